"""passed"""
# task: dropout
# Honest: PyTorch's dropout while training.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.dropout(F.linear(x, self.layer.weight, self.layer.bias))
