"""correctness: not_finite | wrong"""
# task: probabilities
# The logarithm is no less than -100 in PyTorch.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def forward(self, p, t, z):
        return -(t * torch.log(p) + (1 - t) * torch.log(1 - p)).mean(), F.binary_cross_entropy_with_logits(z, t, pos_weight=torch.tensor(3.0))
