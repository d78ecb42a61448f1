"""correctness: wrong"""
# task: pooling
# Means without the padding that the model counts.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        x = F.max_pool2d(x, 3, stride=2, padding=1)
        return F.avg_pool2d(x, 2, stride=2, padding=1, count_include_pad=False)
