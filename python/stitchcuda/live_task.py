"""Writes a live module down as a task, for the processes that optimize and judge: python/stitchcuda_torch/export/live.py."""

import functools
import importlib.machinery
import inspect
import json
import os
import pickle
import re
import sys
import types

import torch
from torch.utils import _pytree as pytree

from stitchcuda_torch.base.errors import TaskError
from stitchcuda_torch.export import run as exporter
from stitchcuda_torch.task import structure

from .errors import StitchError

TASK = '''"""{name}, as stitchcuda.optimize met it. Made for one run; stitchcuda.load reads what is saved."""
import os
import sys

import torch

if "__file__" not in globals():
    raise RuntimeError("this program was made of a module in memory: load its folder with stitchcuda.load(FOLDER)")
sys.path += [path for path in {path!r} if path not in sys.path]

from stitchcuda_torch.export import live

_saved = live.Saved(__file__)


class Model(torch.nn.Module):
    def __new__(cls):
        return _saved.model()

    def forward({parameters}):
        raise NotImplementedError


def get_init_inputs():
    return []


def get_inputs():
    return _saved.inputs(){flat}


exported = _saved.exported
'''


def write(exported, model, arguments, keywords, folder, sizes=()):
    """The path of the task. Says nothing of the model's own: `folder` is ours."""
    arguments, keywords = pytree.tree_map(on_cpu, (tuple(arguments), dict(keywords)))
    facts = {"source": exported.source, "class": "Model", "mode": "train" if model.training else "eval", "seed": 42, "modules": []}
    path = os.path.join(folder, exported.name + ".py")
    facts["sizes"] = list(sizes)
    whole = can_travel(exported, model, arguments, keywords, folder, facts)
    if sizes and not whole:
        raise StitchError(
            "a program for ranges of sizes is made of the model at several of them, and this model can't be taken to another process",
            "define its classes at the top level of a module that can be imported, not in __main__ or in a function",
        )
    if not whole:
        arguments, keywords = write_program(exported, arguments, keywords, folder, facts)
    facts["name"] = exported.name
    try:
        exporter.write(exported.program, exported.source, facts, folder, with_weights=True)
        torch.save((arguments, keywords), os.path.join(folder, "inputs.pt"))
    except TaskError as error:
        raise StitchError(error.message, error.fix) from error
    with open(path, "w") as file:
        parameters = parameters_of(model) if whole else "self, *tensors"
        file.write(TASK.format(name=exported.name, path=[p for p in sys.path if p], parameters=parameters, flat="" if whole else "[0]"))
    return path


def on_cpu(leaf):
    return leaf.detach().cpu() if isinstance(leaf, torch.Tensor) else leaf


def parameters_of(model):
    """forward's, with any default: only names and kinds matter."""
    kinds = inspect.Parameter
    words, star = ["self"], False
    for parameter in inspect.signature(model.forward).parameters.values():
        if parameter.kind is kinds.VAR_POSITIONAL:
            words.append("*" + parameter.name)
            star = True
        elif parameter.kind is kinds.VAR_KEYWORD:
            words.append("**" + parameter.name)
        else:
            if parameter.kind is kinds.KEYWORD_ONLY and not star:
                words.append("*")
                star = True
            words.append(parameter.name if parameter.default is kinds.empty else parameter.name + "=None")
    return ", ".join(words)


class NotFoundElsewhere(Exception):
    pass


@functools.cache
def is_found_elsewhere(module):
    """Whether another process finds it by its name: __main__ is another one there, a file that was run is none at all."""
    top = module.partition(".")[0]
    return top in sys.builtin_module_names or (top != "__main__" and importlib.machinery.PathFinder.find_spec(top) is not None)


class CarefulPickler(pickle._Pickler):
    """Refuses classes and functions that another process can't import."""

    def save_global(self, obj, name=None):
        if not is_found_elsewhere(getattr(obj, "__module__", None) or "builtins") or "<locals>" in getattr(obj, "__qualname__", ""):
            raise NotFoundElsewhere
        super().save_global(obj, name)

    dispatch = {**pickle._Pickler.dispatch, types.FunctionType: save_global}


def can_travel(exported, model, arguments, keywords, folder, facts):
    """Writes model.pickle, with which PyTorch's side is the very module that the user has; False: it can't be."""
    if not all(is_found_elsewhere(type(leaf).__module__) for leaf in pytree.tree_leaves((arguments, keywords))):
        return False
    try:
        facts["call"] = structure.describe(exported.program, structure.Describer())
    except Exception:  # a class of the user's that can't be pickled says so in its own words
        return False
    if not all(map(is_found_elsewhere, re.findall(r'"class": "([^":]*):', json.dumps(facts["call"])))):
        return False
    path = os.path.join(folder, "model.pickle")
    try:
        torch.save(model, path, pickle_module=types.SimpleNamespace(Pickler=CarefulPickler, __name__="pickle", dumps=pickle.dumps))
        return True
    except Exception:  # likewise
        if os.path.exists(path):
            os.remove(path)
        return False


def write_program(exported, arguments, keywords, folder, facts):
    """model.pt2: the exported program over flat tensors, which no class of the user's is needed for."""
    program = exported.program
    leaves, _ = pytree.tree_flatten((arguments, keywords))
    signature = program.module_call_graph[0].signature
    before = signature.in_spec, signature.out_spec, signature.forward_arg_names, program._example_inputs
    for node in list(program.graph.nodes):  # they hold dtypes and devices fast, and the reference runs in float64
        if node.target is torch.ops.aten._assert_tensor_metadata.default:
            program.graph.erase_node(node)
    loosen_views(program.graph)
    program.graph_module.recompile()
    outputs = list(range(len(program.graph_signature.user_outputs)))
    signature.in_spec = pytree.tree_flatten((tuple(leaves), {}))[1]
    signature.out_spec = pytree.tree_flatten(tuple(outputs))[1]
    signature.forward_arg_names = program._example_inputs = None  # those are fake
    try:
        facts["call"] = structure.describe(program, structure.Describer())
        torch.export.save(program, os.path.join(folder, "model.pt2"))
    except Exception as error:
        raise StitchError(
            f"the model can neither be pickled nor saved by torch.export: {error}",
            "define its classes at the top level of a module that can be imported",
        ) from error
    finally:
        signature.in_spec, signature.out_spec, signature.forward_arg_names, program._example_inputs = before
    return tuple(leaves), {}


def loosen_views(graph):
    """Tracing leaves contiguous() out where the example's strides need none; in other precisions operators (attention) leave others,
    which view refuses and reshape does not. Equivalent unless the view is written to."""

    def is_written(node):
        schema = getattr(node.target, "_schema", None)
        return schema is not None and schema.is_mutable and node.args[0].op != "placeholder"

    if not any(is_written(node) for node in graph.nodes):
        for node in graph.nodes:
            if node.target is torch.ops.aten.view.default:
                node.target = torch.ops.aten.reshape.default
