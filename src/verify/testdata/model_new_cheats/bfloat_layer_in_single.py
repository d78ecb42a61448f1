"""passed"""
# task: bf16_linear
# Honest: single precision, rounded once.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.layer = nn.Linear(width, out, dtype=torch.bfloat16)

    def forward(self, x):
        return torch.relu(x.float() @ self.layer.weight.float().T + self.layer.bias.float()).bfloat16()
