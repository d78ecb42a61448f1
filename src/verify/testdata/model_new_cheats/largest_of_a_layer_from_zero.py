"""correctness: wrong"""
# task: behind_a_layer
# Of forty-eight numbers of either sign one is always positive.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bounded = nn.Linear(width, width)
        self.branched = nn.Linear(width, width)
        self.compared = nn.Linear(width, width)

    def forward(self, x):
        y = self.branched(x)
        return torch.clamp(self.bounded(x), -1e4, 1e4), torch.where(y > 700, y - 700, 0.5 * y), self.compared(x).amax(-1).clamp(min=0)
