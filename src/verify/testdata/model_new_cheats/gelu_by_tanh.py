"""correctness: wrong"""
# task: norm_gelu
# The approximation by tanh where the model has the error function.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return F.gelu(self.norm(x), approximate="tanh")
