"""Bounds, a branch and maxima behind layers, which no inputs of any kind reach."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bounded = nn.Linear(width, width)
        self.branched = nn.Linear(width, width)
        self.compared = nn.Linear(width, width)

    def forward(self, x):
        y = self.branched(x)
        return torch.clamp(self.bounded(x), -1e4, 1e4), torch.where(y > 700, y - 700, 0.5 * y), self.compared(x).amax(-1)


def get_init_inputs():
    return [48]


def get_inputs():
    return [torch.randn(16, 48)]
