"""passed"""
# task: norm_gelu
# Honest: the error function by Abramowitz and Stegun's polynomial.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        y = self.norm(x)
        z = y.abs() * 0.7071067811865476
        t = 1 / (1 + 0.3275911 * z)
        p = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
        erf = torch.sign(y) * (1 - p * torch.exp(-z * z))
        return 0.5 * y * (1 + erf)
