"""A file's ModelNew: loaded, constructed by KernelBench's rule, given weights by name."""

import os

import torch

from .errors import TaskError
from .task import Stage, load_module


class File:
    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.module = load_module(path)
        self.model_class = getattr(self.module, "ModelNew", None)
        if not (isinstance(self.model_class, type) and issubclass(self.model_class, torch.nn.Module)):
            raise TaskError("missing", "there is no class ModelNew derived from torch.nn.Module", os.path.basename(path))

    def construct(self, positional, keyword, seed, device, training, given=None):
        """given: weights by name, in place from the moment that the model has a tensor of that name."""
        with Stage(self.path, "constructor", "ModelNew(...) failed"), torch.no_grad(), Giving(self.model_class, given or {}):
            torch.manual_seed(seed)
            model = self.model_class(*positional, **keyword)
        with Stage(self.path, "constructor", "ModelNew(...) failed"), torch.no_grad():
            return model.to(device).train(training)

    def stage(self):
        return Stage(self.path, "forward", "forward failed")


class Giving:
    """While it lasts, what is assigned to an attribute of such a model has the given weights at once: a constructor that lays out its
    layers' weights anew lays out these. Layers that do so for themselves, before the model has them, don't."""

    def __init__(self, model_class, given):
        self.model_class, self.given = model_class, given

    def __enter__(self):
        self.own = self.model_class.__dict__.get("__setattr__")
        assign_attribute, given = self.model_class.__setattr__, self.given

        def give(model, name, value):
            assign_attribute(model, name, value)
            names = [full for full in given if full == name or full.startswith(name + ".")]
            fitting = [full for full in names if not misfits(model, [full], [given[full]])]
            assign(model, fitting, [given[full] for full in fitting])

        if given:
            self.model_class.__setattr__ = give
        return self

    def __exit__(self, kind, error, traceback):
        if self.own is not None:
            self.model_class.__setattr__ = self.own
        elif "__setattr__" in self.model_class.__dict__:
            del self.model_class.__setattr__
        return False


def find(model, name):
    """The tensor of this dotted name: a parameter, a buffer or a plain attribute; None: there is none."""
    holder = model
    *path, last = name.split(".")
    for step in path:
        holder = getattr(holder, step, None)
    tensor = getattr(holder, last, None)
    # A lazy layer's tensors have no shape until it has seen what it works on.
    return tensor if isinstance(tensor, torch.Tensor) and not torch.nn.parameter.is_lazy(tensor) else None


def holds_tensors(thing, depth=4):
    """Whether a model has any tensor that could be a weight, or something that nobody can look into."""
    if isinstance(thing, torch.nn.Module):
        return any(holds_tensors(part, depth) for module in thing.modules() for part in vars(module).values())
    if isinstance(thing, torch.Tensor) or depth == 0:
        return True
    if isinstance(thing, dict):
        return any(holds_tensors(part, depth - 1) for part in thing.values())
    if isinstance(thing, (list, tuple, set, frozenset)):
        return any(holds_tensors(part, depth - 1) for part in thing)
    return not isinstance(thing, (bool, int, float, complex, str, bytes, type, type(None), torch.dtype, torch.device))


def misfits(model, names, tensors):
    """Names that the model lacks, or has in another shape or dtype."""
    found = [(name, find(model, name), tensor) for name, tensor in zip(names, tensors) if name is not None]
    return [name for name, own, tensor in found if own is None or own.shape != tensor.shape or own.dtype != tensor.dtype]


def assign(model, names, tensors):
    with torch.no_grad():
        for name, tensor in zip(names, tensors):
            if name is not None:
                find(model, name).copy_(tensor)
