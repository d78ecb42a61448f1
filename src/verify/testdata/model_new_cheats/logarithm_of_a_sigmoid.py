"""correctness: not_finite | wrong"""
# task: probabilities
# Overflows where a logit is large.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def forward(self, p, t, z):
        return F.binary_cross_entropy(p, t), -(3 * t * torch.log(torch.sigmoid(z)) + (1 - t) * torch.log(1 - torch.sigmoid(z))).mean()
