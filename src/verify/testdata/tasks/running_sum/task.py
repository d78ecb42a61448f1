"""Sums of all before, along rows that no block holds at once."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.cumsum(x, dim=1)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.rand(6, 3000)]
