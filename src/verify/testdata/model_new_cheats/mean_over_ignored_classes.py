"""correctness: wrong"""
# task: ignored_class
# Divides by all targets, whether they count or not.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def forward(self, z, t):
        return F.cross_entropy(z, t, reduction='sum', ignore_index=-1) / t.numel()
