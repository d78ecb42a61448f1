"""correctness: wrong"""
# task: padded_words
# Division and remainder with the sign of C's.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.e = nn.Embedding(n, d)

    def forward(self, t, length):
        keep = (t != 0) & (t < 38)
        x = (self.e(t) * keep[..., None]).sum(1) / keep.sum(1, keepdim=True).clamp(min=1)
        return x, torch.fmod(torch.div(t, 4, rounding_mode='trunc') - 2, 3), torch.where(length >= 5, 1.0, 0.0)
