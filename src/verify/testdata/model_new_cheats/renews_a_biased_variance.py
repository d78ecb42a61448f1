"""correctness: wrong"""
# task: conv_norm_train
# The running variance without Bessel's correction.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels, filters):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(channels, filters, 3), nn.BatchNorm2d(filters)

    def forward(self, x):
        y = self.conv(x)
        mean, var = y.mean((0, 2, 3)), y.var((0, 2, 3), unbiased=False)
        self.norm.running_mean.lerp_(mean, 0.1)
        self.norm.running_var.lerp_(var, 0.1)
        self.norm.num_batches_tracked += 1
        y = (y - mean.view(1, -1, 1, 1)) * torch.rsqrt(var + 1e-5).view(1, -1, 1, 1)
        return torch.relu(y * self.norm.weight.view(1, -1, 1, 1) + self.norm.bias.view(1, -1, 1, 1))
