"""passed"""
# task: conv_norm_train
# Honest: statistics of the batch and running ones, by hand.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels, filters):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(channels, filters, 3), nn.BatchNorm2d(filters)

    def forward(self, x):
        y = self.conv(x)
        var, mean = torch.var_mean(y, (0, 2, 3), unbiased=False)
        n = y.numel() / y.shape[1]
        self.norm.running_mean.lerp_(mean, 0.1)
        self.norm.running_var.lerp_(var * n / (n - 1), 0.1)
        self.norm.num_batches_tracked.add_(1)
        a = self.norm.weight * torch.rsqrt(var + 1e-5)
        return torch.relu(y * a.view(1, -1, 1, 1) + (self.norm.bias - mean * a).view(1, -1, 1, 1))
