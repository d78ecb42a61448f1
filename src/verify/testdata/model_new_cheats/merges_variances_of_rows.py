"""passed"""
# task: group_norm
# Honest: variances of rows merged.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x):
        n, c, h, w = x.shape
        g = x.reshape(n, self.norm.num_groups, -1, w)
        means, m2 = g.mean(-1), g.var(-1, unbiased=False) * w
        mean = means.mean(-1, keepdim=True)
        var = (m2.sum(-1) + w * ((means - mean) ** 2).sum(-1)) / (g.shape[2] * w)
        scale = torch.rsqrt(var + self.norm.eps)[..., None, None]
        y = ((g - mean[..., None]) * scale).reshape(x.shape)
        return F.silu(torch.addcmul(self.norm.bias.view(1, -1, 1, 1), y, self.norm.weight.view(1, -1, 1, 1)))
