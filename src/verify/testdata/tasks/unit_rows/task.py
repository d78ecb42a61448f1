"""Rows of length one: with inputs of one kind the lengths are nearly equal."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x / torch.norm(x, dim=1, keepdim=True)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.rand(20, 4000)]
