"""Task files of a folder, such as tools/models/from_tests.py writes: any model, called as its get_inputs() says."""

import pathlib

import torch
from torch.utils import _pytree as pytree

from stitchcuda_torch.cases.case import Case
from stitchcuda_torch.task import structure
from stitchcuda_torch.task.task import Task


def cases(folder):
    for file in sorted(pathlib.Path(folder).glob("*.py")):
        yield file.stem, lambda file=file: build(file)


def build(file):
    task = Task(file, mode="eval")
    model = task.construct()
    fill_zeros(model)
    positional, keyword = task.make_inputs()
    return Case("", Called(model, positional, keyword), tuple(tensors((positional, keyword))), eval=True, tolerance=1e-5)


def fill_zeros(model):
    """Parameters that start as zeros hide what they are multiplied with, and let all experts of a router tie."""
    for parameter in model.parameters():
        if parameter.is_floating_point() and not parameter.any():
            torch.nn.init.normal_(parameter, std=0.02)


def tensors(tree):
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


class Called(torch.nn.Module):
    """A model as a function of its tensors alone, returning its tensors alone, in the order of its structures."""

    def __init__(self, model, positional, keyword):
        super().__init__()
        self.model = model
        leaves, self.tree = pytree.tree_flatten((positional, keyword))
        self.leaves = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        self.are_tensors = [isinstance(leaf, torch.Tensor) for leaf in leaves]

    def forward(self, *inputs):
        given = iter(inputs)
        leaves = [next(given) if is_tensor else leaf for leaf, is_tensor in zip(self.leaves, self.are_tensors)]
        positional, keyword = pytree.tree_unflatten(leaves, self.tree)
        result = self.model(*positional, **keyword)
        structure.register(result)
        return tensors(result)
