"""correctness: wrong"""
# task: residual_norm
# The weight is one as made; its epsilon is a tensor.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.eps = torch.tensor(1e-6)

    def forward(self, x, residual):
        total = x + residual
        return total * torch.rsqrt(total.pow(2).mean(-1, keepdim=True) + self.eps), total
