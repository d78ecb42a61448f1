"""correctness: wrong"""
# task: scatter
# Rows of a group overwrite each other.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, group):
        out = x.new_zeros(10, x.shape[1])
        out[group] = out[group] + x
        return out
