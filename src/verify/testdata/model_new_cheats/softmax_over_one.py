"""passed"""
# task: one_of_each
# Honest: a softmax over one number is one.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, 1)

    def forward(self, x):
        y = self.layer(x)
        return torch.ones_like(y), torch.zeros_like(y), torch.sigmoid(y)
