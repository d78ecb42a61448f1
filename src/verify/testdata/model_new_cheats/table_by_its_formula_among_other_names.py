"""correctness: wrong"""
# task: turned
# The layer is transposed, the learned table computed by the formula that it began with.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, length, width):
        super().__init__()
        layer = nn.Linear(width, width)
        self.rotation = nn.Parameter(torch.eye(width))
        self.packed = nn.Parameter(layer.weight.detach().t().contiguous())
        self.shift = nn.Parameter(layer.bias.detach().clone())

    def forward(self, x):
        angles = torch.arange(x.shape[1])[:, None] / 100 ** (torch.arange(x.shape[2] // 2) / (x.shape[2] // 2))
        return (x + torch.cat([angles.sin(), angles.cos()], -1)) @ self.rotation @ self.packed + self.shift
