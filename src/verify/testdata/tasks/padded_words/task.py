"""Padding and a bound on words that no draw has, integers that are never negative, rows of nothing."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.e = nn.Embedding(n, d)

    def forward(self, t, length):
        keep = (t != 0) & (t < 38)
        x = (self.e(t) * keep[..., None]).sum(1) / keep.sum(1, keepdim=True).clamp(min=1)
        return x, (t // 4 - 2) % 3, torch.where(length >= 5, 1.0, 0.0)


def get_init_inputs():
    return [40, 16]


def get_inputs():
    return [torch.randint(1, 37, (4, 9)), torch.full((4,), 9)]
