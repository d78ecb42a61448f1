"""conduct: drifts | not_repeatable"""
# task: product
# Each call is a ten millionth further away.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, *size):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(*size))
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x @ self.weight * (1 + 1e-7 * self.calls)
