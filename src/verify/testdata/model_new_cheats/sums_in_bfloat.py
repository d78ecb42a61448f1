"""correctness: wrong"""
# task: bf16_linear
# Partial sums are rounded to bfloat16, thirty-two of them a row.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.layer = nn.Linear(width, out, dtype=torch.bfloat16)

    def forward(self, x):
        y = self.layer.bias.expand(x.shape[0], -1)
        for part in range(0, 256, 8):
            y = y + x[:, part:part + 8] @ self.layer.weight[:, part:part + 8].T
        return torch.relu(y)
