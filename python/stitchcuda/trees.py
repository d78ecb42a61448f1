"""How the model is called and what it returns: trees of the exporter's `call`, with classes and values as they are.

A tree is {"input": N}, {"output": N}, {"constant": value}, {"list" | "tuple": [tree…]}, {"dict": [[key, tree]…]} or
{"class": type, "fields": [[name, tree]…]}.
"""

import importlib
import inspect

import torch

from stitchcuda_torch.task import encode, structure

from .errors import StitchError


class LiveDescriber(structure.Describer):
    """Classes themselves instead of their names, values of every kind."""

    def tree(self, value, what):
        if id(value) in self.places or isinstance(value, (dict, list, tuple)) or structure.dataclasses.is_dataclass(value):
            return super().tree(value, what)
        if structure.is_object(value):
            return self.record(structure.rebuild, {"object_kind": structure.name_of(type(value)), **vars(value)}, what)
        if isinstance(value, torch.device):
            return self.record(torch.device, {"type": value.type, **({} if value.index is None else {"index": value.index})}, what)
        return {"constant": value}

    def record(self, kind, fields, what):
        return {"class": kind, "fields": [[name, self.tree(item, what)] for name, item in fields.items()]}


def for_extension(tree):
    """As the C extension reads it."""
    (kind, content), *more = tree.items()
    if kind in ("input", "output"):
        return ("tensor", content)
    if kind == "constant":
        return (kind, content)
    if kind == "class":
        return (kind, content, tuple((name, for_extension(part)) for name, part in tree["fields"]))
    if kind == "dict":
        return (kind, tuple((key, for_extension(part)) for key, part in content))
    return (kind, tuple(for_extension(part) for part in content))


def build(tree, tensors):
    """The value itself: an argument, or what forward returns."""
    (kind, content), *more = tree.items()
    if kind in ("input", "output"):
        return tensors[content]
    if kind == "constant":
        return content
    if kind == "class":
        return content(**{name: build(part, tensors) for name, part in tree["fields"]})
    if kind == "dict":
        return {key: build(part, tensors) for key, part in content}
    return (list if kind == "list" else tuple)(build(part, tensors) for part in content)


def translated(tree, of_class, of_constant):
    """The same tree with other words for its classes and constants."""

    def again(part):
        return translated(part, of_class, of_constant)

    (kind, content), *more = tree.items()
    if kind == "class":
        return {"class": of_class(content), "fields": [[name, again(part)] for name, part in tree["fields"]]}
    if kind == "constant":
        return {"constant": of_constant(content)}
    if kind == "dict":
        return {"dict": [[key, again(part)] for key, part in content]}
    return {kind: [again(part) for part in content] if isinstance(content, list) else content}


def translated_call(call, *words):
    return {
        "positional": [translated(tree, *words) for tree in call["positional"]],
        "keyword": [[name, translated(tree, *words)] for name, tree in call["keyword"]],
        "outputs": translated(call["outputs"], *words),
    }


def call_to_json(call):
    """For a file: classes by name, which must be importable when it is loaded."""
    return translated_call(call, name_of_class, encoded)


def call_from_json(call, home=None):
    """home: the module of classes that are named without one, those of a task's own file."""
    return translated_call(call, lambda name: find_class(name, home), encode.plain)


def name_of_class(kind):
    if "<locals>" in kind.__qualname__ or kind.__module__ == "__main__":
        raise StitchError(
            f"forward takes or returns a {kind.__qualname__}, a class that only this process knows",
            "move the class into a module that can be imported, then optimize and save again",
        )
    return f"{kind.__module__}:{kind.__qualname__}"


def encoded(constant):
    out = encode.argument(constant)
    if isinstance(out, dict) and "other" in out:
        raise StitchError(f"an argument of forward is a {type(constant).__name__}, which cannot be saved")
    return out


def find_class(name, home):
    module, _, path = name.partition(":")
    if not module and home is None:
        raise StitchError(f"forward takes or returns a {path}, a class of the model's own file", "load(folder, model=model)")
    found = importlib.import_module(module) if module else home
    for part in path.split("."):
        found = getattr(found, part)
    return found


class OtherCall(Exception):
    """The arguments are none that this program was made for; the message says which."""


class Arguments:
    """Finds the input tensors in a call, in whatever way forward's arguments are given."""

    def __init__(self, signature, call):
        self.signature = signature  # None: only the example's own form is known
        self.call = call
        if signature is None:
            return
        self.expected = signature.bind(*call["positional"], **dict(call["keyword"])).arguments
        for name, tree in self.expected.items():
            kind = signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                self.expected[name] = {"tuple": list(tree)}
            elif kind is inspect.Parameter.VAR_KEYWORD:
                self.expected[name] = {"dict": list(tree.items())}

    def find(self, arguments, keywords):
        """[tensor]; TypeError where forward itself would raise one, OtherCall for what this program can't do."""
        given = {}
        if self.signature is None:
            if len(arguments) != len(self.call["positional"]) or keywords.keys() != dict(self.call["keyword"]).keys():
                raise OtherCall("it is called with other arguments than in the example")
            for i, tree in enumerate(self.call["positional"]):
                match(tree, arguments[i], f"argument {i}", given)
            for name, tree in self.call["keyword"]:
                match(tree, keywords[name], name, given)
        else:
            bound = self.signature.bind(*arguments, **keywords)
            bound.apply_defaults()
            for name, value in bound.arguments.items():
                if name in self.expected:
                    match(self.expected[name], value, name, given)
                elif not self.is_default(name, value):
                    raise OtherCall(f"the argument '{name}' was not given in the example")
        return [given[i] for i in range(len(given))]

    def is_default(self, name, value):
        parameter = self.signature.parameters[name]
        if parameter.default is parameter.empty:  # *args or **kwargs
            return len(value) == 0
        return value is parameter.default or (not isinstance(value, torch.Tensor) and same(value, parameter.default))


def match(tree, value, path, given):
    (kind, content), *more = tree.items()
    if kind == "input":
        if not isinstance(value, torch.Tensor):
            raise OtherCall(f"'{path}' is {shown(value)}, and was a tensor in the example")
        given[content] = value
    elif kind == "constant":
        if not same(value, content):
            raise OtherCall(f"'{path}' is {shown(value)}, and was {shown(content)} in the example")
    elif kind == "class":
        for name, part in tree["fields"]:
            match(part, getattr(value, name, None), f"{path}.{name}", given)
    elif kind == "dict":
        trees = dict(content)
        if not hasattr(value, "keys") or set(value.keys()) != trees.keys():
            raise OtherCall(f"'{path}' has other entries than in the example ({', '.join(map(repr, trees))})")
        for key, part in trees.items():
            match(part, value[key], f"{path}[{key!r}]", given)
    else:
        if not isinstance(value, (list, tuple)) or len(value) != len(content):
            raise OtherCall(f"'{path}' was a {kind} of {len(content)} in the example")
        for i, part in enumerate(content):
            match(part, value[i], f"{path}[{i}]", given)


def same(a, b):
    if a is b:
        return True
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        return False
    try:
        return type(a) is type(b) and bool(a == b or (a != a and b != b))
    except Exception:  # whatever a stranger's __eq__ does
        return False


def shown(value):
    return "a tensor" if isinstance(value, torch.Tensor) else repr(value)[:60]
