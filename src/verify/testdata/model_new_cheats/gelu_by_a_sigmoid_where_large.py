"""correctness: wrong"""
# task: norm_gelu
# Another GELU beyond two and a half, where both are nearly the identity.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        y = self.norm(x)
        return torch.where(y.abs() > 2.5, y * torch.sigmoid(1.702 * y), F.gelu(y))
