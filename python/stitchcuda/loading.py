"""A folder that `save` or the command line wrote, as a module again."""

import inspect
import os
import sys

import torch

from stitchcuda_torch.base import safetensors

from . import trees
from .binding import DTYPES
from .errors import StitchError
from .folder import Folder
from .module import Fast
from .optimizing import optimize
from .saving import CALL, CONSTANTS, VERSION, WEIGHTS


def signature_from(names):
    if names is None:
        return None
    empty = inspect.Parameter.empty
    return inspect.Signature(
        [inspect.Parameter(name, inspect._ParameterKind(kind), default=value if default else empty) for name, kind, default, value in names]
    )


def load(path, model=None, *, other_shapes=None, no_gpu="emulate"):
    """A folder that save() or `stitchcuda optimize` wrote, on the CPU for an emulated program and on the current GPU for
    another. With the model it was made of, its weights are the model's, and PyTorch runs what the program can't."""
    folder = Folder(path)
    if os.path.exists(folder.file(CALL)):
        document = folder.read(CALL)
    elif not folder.is_saved:
        document = document_of_tool(folder, model)
    else:
        raise StitchError(f"{folder.path} is a program, but not one that save() wrote: it has no weights")
    if document.get("stitchcuda") != VERSION:
        raise StitchError(f"{path} was saved by another version of stitchcuda", "save it again")
    call = trees.call_from_json(document["call"], sys.modules.get(type(model).__module__) if model is not None else None)
    cuda = folder.record.get("device") == "cuda"
    if cuda and not torch.cuda.is_available() and no_gpu == "error":
        raise StitchError("there is no GPU on this machine", "no_gpu='emulate', or 'pytorch' with the model")
    if cuda and not torch.cuda.is_available() and no_gpu == "pytorch":
        if model is None:
            raise StitchError("there is no GPU on this machine, and no model to run in PyTorch", "load(path, model=model)")
        return Fast(None, None, model, choices={"no_gpu": no_gpu})
    choices = {
        "other_shapes": other_shapes or ("pytorch" if model is not None else "error"),
        "no_gpu": no_gpu,
        "numerics": folder.record.get("numerics", "default"),
    }
    signature = signature_from(document["names"])
    if signature is None and model is not None:
        signature = inspect.signature(model.forward)
    fast = Fast(folder, call, model, {}, signature, choices, optimize=optimize)
    fast.__dict__["training"] = document["training"] if model is None else model.training
    tensors = {}
    for name in (WEIGHTS, CONSTANTS):
        if os.path.exists(folder.file(name)):
            tensors |= safetensors.read(folder.file(name))
    for entry in folder.manifest["outputs"]:  # what is only written needs no value, and the command line ships none
        if entry.get("data") and entry["data"] not in tensors:
            tensors[entry["data"]] = torch.zeros(entry["shape"], dtype=DTYPES[entry["dtype"]])
    tensors |= {key: torch.view_as_complex(tensors[key]) for key in document.get("complex", [])}
    device = torch.device("cuda", torch.cuda.current_device()) if cuda and torch.cuda.is_available() else torch.device("cpu")
    put(fast, tensors, document["tensors"], device, with_weights=model is None)
    return fast


def document_of_tool(folder, model):
    """call.json of a folder that the command line wrote: of its task.json and its manifest."""
    facts = folder.read("task.json") if os.path.exists(folder.file("task.json")) else {}
    if "call" not in facts:
        raise StitchError(
            f"{folder.path} does not say how its model is called: there is no task.json with a call",
            "make it again: stitchcuda optimize MODEL.py -o FOLDER",
        )
    if model is None and not os.path.exists(folder.file(WEIGHTS)):
        raise StitchError(f"{folder.path} has no weights", "load(folder, model=model), or make it again with --weights always")
    kinds = {"parameter": "parameter", "constant": "constant"}
    entries = [entry for part in ("parameters", "inputs", "outputs") for entry in folder.manifest[part] if entry.get("data")]
    layout = {
        entry["data"]: [entry["data"], kinds.get(entry["role"], "buffer"), entry["data"], entry["role"] != "parameter"] for entry in reversed(entries)
    }  # of several, the first says what it is
    return {"stitchcuda": VERSION, "training": facts.get("mode") == "train", "call": facts["call"], "names": None, "tensors": list(layout.values())}


def put(fast, tensors, layout, device, with_weights):
    made = {}
    for name, kind, key, flag in layout:
        if kind == "constant" or not with_weights:
            if kind == "constant":
                fast._constants[name] = tensors[key].to(device)
            continue
        module, leaf = place(fast, name)
        if kind == "parameter":
            if key not in made:
                made[key] = torch.nn.Parameter(tensors[key].to(device), requires_grad=flag)
            module.register_parameter(leaf, made[key])
        else:
            module.register_buffer(leaf, made.setdefault(key, tensors[key].to(device)), persistent=flag)


def place(root, path):
    *parents, leaf = path.split(".")
    for part in parents:
        if part not in root._modules:
            root.add_module(part, torch.nn.Module())
        root = root._modules[part]
    return root, leaf
