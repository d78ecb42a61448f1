"""correctness: wrong"""
# task: three_bags
# A maximum that starts at -2, which few rows of a table are all below.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.e = nn.EmbeddingBag(n, d, mode="mean", padding_idx=0)
        self.m = nn.EmbeddingBag(n, d, mode="max")
        self.s = nn.EmbeddingBag(n, d, mode="sum")

    def forward(self, words, offsets, w):
        return self.e(words, offsets), self.m(words, offsets).clamp(min=-1e3) if words.min() < 0 else torch.maximum(self.m(words, offsets), torch.full((), -2.0)), self.s(words, offsets, per_sample_weights=w)
