"""passed"""
# task: half_block
# Honest: single precision in the activation alone.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a, self.b, self.n = nn.Linear(d, 2 * d), nn.Linear(2 * d, d), nn.LayerNorm(d)
        self.half()

    def forward(self, x):
        return x + self.b(F.gelu(self.a(self.n(x)).float()).half()), torch.softmax(x, -1), F.silu(x) * x.sigmoid()
