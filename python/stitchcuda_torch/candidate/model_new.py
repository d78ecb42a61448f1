"""A file's ModelNew: loaded, constructed by KernelBench's rule, given weights by name."""

import os

import torch

from ..base.errors import TaskError
from ..task.task import Stage, load_module


class File:
    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.module = load_module(path)
        self.model_class = getattr(self.module, "ModelNew", None)
        if not (isinstance(self.model_class, type) and issubclass(self.model_class, torch.nn.Module)):
            is_task = hasattr(self.module, "Model") and hasattr(self.module, "get_inputs")
            raise TaskError(
                "missing",
                "this is a task, with Model and get_inputs(): a candidate has a class ModelNew"
                if is_task
                else "there is no class ModelNew derived from torch.nn.Module",
                os.path.basename(path),
            )

    def construct(self, positional, keyword, seed, device, training, given=None):
        """(model, names that its constructor had the given weights of). given: weights by name, in place from the moment that the
        model has a tensor of that name."""
        giving = Giving(self.model_class, given or {})
        with Stage(self.path, "constructor", "ModelNew(...) failed"), torch.no_grad(), giving:
            torch.manual_seed(seed)
            model = self.model_class(*positional, **keyword)
        with Stage(self.path, "constructor", "ModelNew(...) failed"), torch.no_grad():
            return model.to(device).train(training), giving.reached

    def drawn(self, model, how, given):
        """Names of tensors that are not as given, and are the same with any weights: the constructor drew them. What it made of the
        given ones (a norm folded into a convolution) is another with others."""
        changed = [name for name, tensor in given.items() if not misfits(model, [name], [tensor]) and not torch.equal(find(model, name), tensor)]
        if not changed:
            return []
        others = {name: tensor * 1.5 + 0.5 if tensor.is_floating_point() else tensor for name, tensor in given.items()}
        try:
            probe, _ = self.construct(*how, others)
        except TaskError:
            return changed
        return [name for name in changed if not misfits(probe, [name], [given[name]]) and torch.equal(find(model, name), find(probe, name))]

    def stage(self):
        return Stage(self.path, "forward", "forward failed")


class Giving:
    """Inside, a layer that is assigned to an attribute of such a model gets the given weights at once, so that a constructor which
    repacks its layers' weights repacks these. Layers that repack their own before they are assigned don't."""

    def __init__(self, model_class, given):
        self.model_class, self.given, self.reached = model_class, given, set()

    def __enter__(self):
        self.own = self.model_class.__dict__.get("__setattr__")
        assign_attribute, given, reached = self.model_class.__setattr__, self.given, self.reached

        def give(model, name, value):
            assign_attribute(model, name, value)
            names = [full for full in given if full == name or full.startswith(name + ".")]
            fitting = [full for full in names if not misfits(model, [full], [given[full]])]
            assign(model, fitting, [given[full] for full in fitting])
            reached.update(fitting)

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


def misfits(model, names, tensors):
    """Names that the model lacks, or has in another shape or dtype."""
    found = [(name, find(model, name), tensor) for name, tensor in zip(names, tensors) if name is not None]
    return [name for name, own, tensor in found if own is None or own.shape != tensor.shape or own.dtype != tensor.dtype]


def assign(model, names, tensors):
    with torch.no_grad():
        for name, tensor in zip(names, tensors):
            if name is not None:
                find(model, name).copy_(tensor)
