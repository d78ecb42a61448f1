"""passed"""
# task: conv_norm
# Honest: plain parameters by other names.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels, filters):
        super().__init__()
        conv = nn.Conv2d(channels, filters, 3, padding=1)
        self.kernel, self.bias = nn.Parameter(conv.weight.detach().clone()), nn.Parameter(conv.bias.detach().clone())
        self.gamma, self.beta = nn.Parameter(torch.ones(filters)), nn.Parameter(torch.zeros(filters))
        self.register_buffer("mean", torch.zeros(filters))
        self.register_buffer("var", torch.ones(filters))

    def forward(self, x):
        y = F.conv2d(x, self.kernel, self.bias, padding=1)
        shape = (1, -1, 1, 1)
        y = (y - self.mean.view(shape)) / torch.sqrt(self.var.view(shape) + 1e-5)
        return torch.clamp_min(y * self.gamma.view(shape) + self.beta.view(shape), 0)
