"""A matrix that begins as the identity and a table that a formula gives, before a layer."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, length, width):
        super().__init__()
        angles = torch.arange(length)[:, None] / 100 ** (torch.arange(width // 2) / (width // 2))
        self.table = nn.Parameter(torch.cat([angles.sin(), angles.cos()], -1))
        self.turn = nn.Parameter(torch.eye(width))
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        return self.layer((x + self.table) @ self.turn)


def get_init_inputs():
    return [12, 16]


def get_inputs():
    return [torch.randn(4, 12, 16)]
