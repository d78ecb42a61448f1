"""correctness: wrong"""
# task: half_block
# Divided by one less.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a, self.b, self.n = nn.Linear(d, 2 * d), nn.Linear(2 * d, d), nn.LayerNorm(d)
        self.half()

    def forward(self, x):
        return x + self.b(F.gelu(self.a(((lambda y: ((y - y.mean(-1, keepdim=True)) / torch.sqrt(y.var(-1, keepdim=True) + 1e-5)).to(x.dtype))(x.float()) * self.n.weight + self.n.bias)))), torch.softmax(x, -1), F.silu(x) * x.sigmoid()
