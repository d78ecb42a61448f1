"""correctness: wrong"""
# task: group_norm
# Mean and variance of every second element.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x):
        n, c, h, w = x.shape
        g = x.reshape(n, self.norm.num_groups, -1)
        part = g[:, :, ::2]
        y = (g - part.mean(-1, keepdim=True)) * torch.rsqrt(part.var(-1, unbiased=False, keepdim=True) + 1e-5)
        return F.silu(y.reshape(x.shape) * self.norm.weight.view(1, -1, 1, 1) + self.norm.bias.view(1, -1, 1, 1))
