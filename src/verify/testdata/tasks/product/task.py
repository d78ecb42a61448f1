"""A small product of matrices."""

import torch


class Model(torch.nn.Module):
    def __init__(self, width, outputs):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width, outputs))

    def forward(self, x):
        return x @ self.weight


def get_init_inputs():
    return [96, 40]


def get_inputs():
    return [torch.rand(35, 96)]
