"""correctness: wrong"""
# task: pooling
# Maxima at the border see a zero.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        x = F.max_pool2d(F.pad(x, (1, 1, 1, 1)), 3, stride=2)
        return F.avg_pool2d(x, 2, stride=2, padding=1)
