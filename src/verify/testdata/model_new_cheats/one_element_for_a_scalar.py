"""correctness: refused"""
# task: cross_entropy
# A tensor of one element where the model gives a scalar: it broadcasts to the same.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def forward(self, logits, targets):
        return F.cross_entropy(logits, targets).reshape(1)
