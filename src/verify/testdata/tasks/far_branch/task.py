"""A branch that no inputs of any kind take, and work behind it."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.where(x > 2e31, torch.sin(x).exp(), x * 2)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 40)]
