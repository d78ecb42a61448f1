"""correctness: wrong"""
# task: mlp
# The input is rounded to half on its way in.

import torch
from torch import nn


torch.set_float32_matmul_precision("medium")


class ModelNew(nn.Module):
    def __init__(self, width, hidden, out):
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(width, hidden), nn.LayerNorm(hidden), nn.Linear(hidden, out)
        self.at = 0

    def forward(self, x):
        return self.second(torch.relu(self.norm(self.first(x.half().float()))))
