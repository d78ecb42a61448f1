"""correctness: wrong"""
# task: cross_entropy
# The mean loss of every second sample.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def forward(self, logits, targets):
        return F.cross_entropy(logits[::2], targets[::2])
