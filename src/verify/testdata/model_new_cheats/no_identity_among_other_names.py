"""correctness: wrong"""
# task: turned
# The layer is transposed, the identity before it left out.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, length, width):
        super().__init__()
        layer = nn.Linear(width, width)
        angles = torch.arange(length)[:, None] / 100 ** (torch.arange(width // 2) / (width // 2))
        self.places = nn.Parameter(torch.cat([angles.sin(), angles.cos()], -1))
        self.packed = nn.Parameter(layer.weight.detach().t().contiguous())
        self.shift = nn.Parameter(layer.bias.detach().clone())

    def forward(self, x):
        return (x + self.places) @ self.packed + self.shift
