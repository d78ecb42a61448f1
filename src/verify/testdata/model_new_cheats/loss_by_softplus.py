"""passed"""
# task: probabilities
# Honest: another form that doesn't overflow.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def forward(self, p, t, z):
        return F.binary_cross_entropy(p, t), ((1 - t) * z + (1 + 2 * t) * (torch.log1p(torch.exp(-z.abs())) + F.relu(-z))).mean()
