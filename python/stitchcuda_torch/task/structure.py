"""How forward is called and what it returns, as JSON (the format: src/import/README.md, `call`)."""

import collections
import dataclasses
import importlib

import torch
from torch.utils import _pytree as pytree

from ..base.errors import TaskError
from . import encode

UNSUPPORTED_FIX = "Use tensors, numbers, lists, tuples, dicts, namedtuples and dataclasses."
CACHE_FIX = "Call the model with use_cache=False, or return the tensors that are wanted (…).logits."


def describe(program, describer):
    """program: an ExportedProgram, whose specs hold the structure and whose signature holds the leaves."""
    arguments, keywords = program.call_spec.in_spec.unflatten(input_leaves(program, describer))
    positional = [describer.tree(value, f"argument {i} of forward") for i, value in enumerate(arguments)]
    keyword = [[name, describer.tree(value, f"forward's argument '{name}'")] for name, value in keywords.items()]
    result = program.call_spec.out_spec.unflatten(output_leaves(program, describer))
    return {"positional": positional, "keyword": keyword, "outputs": describer.tree(result, "what forward returns")}


def arguments(call, tensors):
    """(positional, keyword) for forward, of the flat tensors: what `describe` wrote down, read back."""
    return [build(tree, tensors) for tree in call["positional"]], {name: build(tree, tensors) for name, tree in call["keyword"]}


def build(tree, tensors):
    (kind, content), *more = tree.items()
    if kind == "input":
        return tensors[content]
    if kind == "constant":
        return encode.plain(content)
    if kind in ("list", "tuple"):
        return (list if kind == "list" else tuple)(build(item, tensors) for item in content)
    if kind == "dict":
        return {key: build(item, tensors) for key, item in content}
    raise ValueError(f"forward takes a {content}, which only the task can make")


def input_leaves(program, describer):
    values = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    names = program.graph_signature.user_inputs
    # Export gives numbers and None as they are, in place of a name.
    leaves = [values[name] if isinstance(name, str) and name in values else name for name in names]
    return describer.mark(leaves, "input")


def output_leaves(program, describer):
    node = next(node for node in program.graph.nodes if node.op == "output")
    count = len(program.graph_signature.user_outputs)
    results = node.args[0][len(node.args[0]) - count :]
    return describer.mark([leaf.meta.get("val") if isinstance(leaf, torch.fx.Node) else leaf for leaf in results], "output")


class Describer:
    """Puts an empty tensor in the place of each tensor: constructors of dataclasses may inspect their arguments.

    own: the name of the task's module, whose classes are written without it."""

    def __init__(self, own=""):
        self.own = own
        self.places = {}  # id of a mark -> (mark, JSON); the mark is kept, so that its id stays its own

    def mark(self, leaves, kind):
        marked, count = [], 0
        for leaf in leaves:
            if isinstance(leaf, torch.Tensor):
                leaf = torch.empty(0)
                self.places[id(leaf)] = (leaf, {kind: count})
                count += 1
            marked.append(leaf)
        return marked

    def tree(self, value, what):
        if id(value) in self.places:
            return self.places[id(value)][1]
        if isinstance(value, (dict, list, tuple)) or dataclasses.is_dataclass(value):
            return self.container(value, what)
        if is_object(value):
            raise TaskError("structure", f"{what} holds a {type(value).__name__}", "", CACHE_FIX)
        encoded = encode.argument(value)
        if isinstance(encoded, dict) and "other" in encoded:
            raise TaskError("structure", f"{what} holds a {type(value).__name__}", "", UNSUPPORTED_FIX)
        return {"constant": encoded}

    def container(self, value, what):
        kind = type(value)
        if kind in (list, tuple):
            return {kind.__name__: [self.tree(item, what) for item in value]}
        if kind in (dict, collections.OrderedDict):
            if any(not isinstance(key, (str, int)) for key in value):
                raise TaskError("structure", f"{what} holds a dict whose keys are neither text nor integers", "", UNSUPPORTED_FIX)
            return {"dict": [[key, self.tree(item, what)] for key, item in value.items()]}
        if isinstance(value, tuple) and hasattr(kind, "n_sequence_fields"):  # torch.return_types: what topk, max or qr return
            return {"tuple": [self.tree(item, what) for item in value]}
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            return self.record(kind, {name: getattr(value, name) for name in kind._fields}, what)
        if isinstance(value, dict) and dataclasses.is_dataclass(value):  # transformers' outputs: None is left out
            return self.record(kind, dict(value.items()), what)
        if dataclasses.is_dataclass(value):
            fields = [field.name for field in dataclasses.fields(value) if field.init]
            return self.record(kind, {name: getattr(value, name) for name in fields}, what)
        if isinstance(value, dict):
            return self.record(kind, dict(value.items()), what)
        raise TaskError("structure", f"{what} holds a {kind.__name__}", "", UNSUPPORTED_FIX)

    def record(self, kind, fields, what):
        """A class that is called with its fields by name."""
        if "<locals>" in kind.__qualname__:
            raise TaskError(
                "structure", f"{what} holds a {kind.__name__}, a class made inside a function", "", "Define the class at the top level of its file."
            )
        module = "" if kind.__module__ == self.own else kind.__module__
        return {"class": f"{module}:{kind.__qualname__}", "fields": [[name, self.tree(item, what)] for name, item in fields.items()]}


def register(value):
    """Registers dataclasses as containers of tensors: only those that forward takes or returns, since export reconstructs
    registered ones, and a model's configuration may come out different."""
    if isinstance(value, (list, tuple)):
        parts = list(value)
    elif isinstance(value, dict):
        parts = list(value.values())
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        if type(value) not in pytree.SUPPORTED_NODES:
            torch.export.register_dataclass(type(value))
        parts = [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    elif is_object(value):
        register_object(type(value))
        parts = list(vars(value).values())
    else:
        return
    for part in parts:
        register(part)


def leaves(result):
    """What forward returned, flat, in the exporter's order."""
    register(result)
    return pytree.tree_leaves(result)


DEPTH = 6


def is_object(value, depth=DEPTH):
    """Whether it is one of transformers' that hold tensors (caches of keys and values)."""
    kind = type(value)
    return (
        kind.__module__.partition(".")[0] == "transformers"
        and not dataclasses.is_dataclass(value)
        and not isinstance(value, (dict, list, tuple))
        and not isinstance(value, torch.nn.Module)
        and hasattr(value, "__dict__")
        and any(holds(part, depth - 1) for part in vars(value).values())
    )


def holds(value, depth=DEPTH):
    """Whether there is a tensor in it."""
    if isinstance(value, torch.Tensor):
        return True
    if depth == 0 or isinstance(value, type):
        return False
    if isinstance(value, (list, tuple)):
        return any(holds(part, depth - 1) for part in value)
    if isinstance(value, dict):
        return any(holds(part, depth - 1) for part in value.values())
    return is_object(value, depth)


def register_object(kind):
    """PyTorch looks into no class that it was not told of. Tensors and containers are an object's parts; what else it holds is kept."""
    if kind not in pytree.SUPPORTED_NODES:
        pytree.register_pytree_node(
            kind, take_apart, lambda parts, facts: rebuild(kind, **dict(zip(facts.parts, parts)), **facts.others), serialized_type_name=name_of(kind)
        )


@dataclasses.dataclass
class Facts:
    parts: list  # names
    others: dict


def take_apart(value):
    parts = {name: part for name, part in vars(value).items() if holds(part)}
    return list(parts.values()), Facts(list(parts), {name: part for name, part in vars(value).items() if name not in parts})


def rebuild(object_kind, **attributes):
    """object_kind: a class, or its name."""
    if isinstance(object_kind, str):
        module, _, name = object_kind.partition(":")
        object_kind = getattr(importlib.import_module(module), name)
    made = object.__new__(object_kind)
    vars(made).update(attributes)
    return made


def name_of(kind):
    return f"{kind.__module__}:{kind.__qualname__}"
