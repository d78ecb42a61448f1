"""Rows so long that every result is small."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.rand(4, 5000)]
