"""passed"""
# task: constants
# Honest: the same numbers, computed in other ways.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, y, z, p):
        bounded = torch.minimum(x, torch.full_like(x, 1e4))
        branched = torch.where(x > 700, x - 700, x * 0.5)
        robust = F.huber_loss(x, y, delta=25.0, reduction="none")
        rounded = x.round()
        below = -torch.ceil(-y)
        passes = 1.0 - (x < 0.5).float()
        unit = y / y.norm(dim=-1, keepdim=True).clamp_min(1e-6)
        wave = torch.sin(y)
        mended = torch.where(z.isnan(), 7.0, z).clamp(-3.4028234663852886e38, 3.4028234663852886e38)
        divergence = torch.xlogy(p, p) - p * torch.log_softmax(x, -1)
        largest = x.max(-1).values
        return bounded, branched, robust, rounded, below, passes, unit, wave, mended, divergence, largest
