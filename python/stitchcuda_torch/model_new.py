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

    def construct(self, positional, keyword, seed, device, training):
        with Stage(self.path, "constructor", "ModelNew(...) failed"), torch.no_grad():
            torch.manual_seed(seed)
            model = self.model_class(*positional, **keyword)
            return model.to(device).train(training)

    def stage(self):
        return Stage(self.path, "forward", "forward failed")


def find(model, name):
    """The tensor of this dotted name: a parameter, a buffer or a plain attribute; None: there is none."""
    holder = model
    *path, last = name.split(".")
    for step in path:
        holder = getattr(holder, step, None)
    tensor = getattr(holder, last, None)
    return tensor if isinstance(tensor, torch.Tensor) else None


def misfits(model, names, tensors):
    """Names that the model lacks, or has in another shape or dtype."""
    found = [(name, find(model, name), tensor) for name, tensor in zip(names, tensors) if name is not None]
    return [name for name, own, tensor in found if own is None or own.shape != tensor.shape or own.dtype != tensor.dtype]


def assign(model, names, tensors):
    with torch.no_grad():
        for name, tensor in zip(names, tensors):
            if name is not None:
                find(model, name).copy_(tensor)
