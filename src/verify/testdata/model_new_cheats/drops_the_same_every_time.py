"""correctness: wrong"""
# task: dropout
# One mask, drawn once, for all calls.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)
        self.mask = (torch.rand(16, width) > 0.1) / 0.9

    def forward(self, x):
        return self.layer(x) * self.mask.to(x.device)
