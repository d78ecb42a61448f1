"""correctness: not_finite"""
# task: scatter
# Groups that have a member are cleared: others never occur in what the task draws.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, group):
        out = x.new_empty(10, x.shape[1])
        out[group] = 0
        return out.index_add_(0, group, x)
