"""correctness: wrong"""
# task: moving_mean
# The correction of the first call in all of them.

import torch
from torch import nn


class Mean(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.register_buffer("m", torch.zeros(d))
        self.register_buffer("n", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.n += 1
        self.m.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return x - self.m / 0.1


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a = nn.Sequential(nn.Linear(d, d), Mean(d))

    def forward(self, x):
        return self.a(x)
