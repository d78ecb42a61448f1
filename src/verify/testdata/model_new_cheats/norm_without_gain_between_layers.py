"""correctness: wrong"""
# task: mlp
# Layers by other names, and a norm without gain and shift between them.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, hidden, out):
        super().__init__()
        self.a, self.b = nn.Linear(width, hidden), nn.Linear(hidden, out)
        self.hidden = hidden

    def forward(self, x):
        return self.b(torch.relu(F.layer_norm(self.a(x), (self.hidden,))))
