"""One piece of test data: something to run and the small inputs to run it on."""

import dataclasses
from typing import Callable

import torch


@dataclasses.dataclass
class Case:
    name: str
    run: Callable  # an nn.Module, or a plain function of tensors
    inputs: tuple
    eval: bool = False
    tolerance: float = 1e-10

    def module(self):
        module = self.run if isinstance(self.run, torch.nn.Module) else _Function(self.run)
        return module.eval() if self.eval else module


class _Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)
