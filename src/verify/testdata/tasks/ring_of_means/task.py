"""The means of the last four calls in a ring: state, and no weight at all."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("means", torch.zeros(4, width))
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        slot = self.calls % self.means.shape[0]
        self.means.index_copy_(0, slot.reshape(1), x.mean(0, keepdim=True))
        self.calls.add_(1)
        return x - self.means.mean(0)


def get_init_inputs():
    return [16]


def get_inputs():
    return [torch.randn(8, 16)]
