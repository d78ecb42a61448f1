"""passed"""
# task: norm_gelu
# Honest: a norm by other names, its means by a product.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        self.register_buffer("ones", torch.ones(width, 1) / width)

    def forward(self, x):
        mean = x @ self.ones
        d = x - mean
        return F.gelu(d * torch.rsqrt((d * d) @ self.ones + 1e-5) * self.gamma + self.beta)
