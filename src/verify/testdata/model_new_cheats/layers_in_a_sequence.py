"""passed"""
# task: mlp
# Honest: the same layers by other names.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, hidden, out):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, hidden), nn.LayerNorm(hidden), nn.ReLU(), nn.Linear(hidden, out))

    def forward(self, x):
        return self.layers(x)
