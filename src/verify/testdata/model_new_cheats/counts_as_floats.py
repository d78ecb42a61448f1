"""correctness: refused"""
# task: counts
# Counts that compare equal, as floats.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        positive = x > 0.25
        return positive.float().sum(dim=1), positive, x.argmax(dim=1)
