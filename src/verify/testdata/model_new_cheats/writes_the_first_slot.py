"""correctness: wrong"""
# task: ring_of_means
# Right in the first call, whose slot is the first one.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("means", torch.zeros(4, width))
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.means[0] = x.mean(0)
        self.calls += 1
        return x - self.means.mean(0)
