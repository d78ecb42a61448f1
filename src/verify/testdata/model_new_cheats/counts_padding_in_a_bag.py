"""correctness: wrong"""
# task: three_bags
# The mean is over padding, too.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.e = nn.EmbeddingBag(n, d, mode="mean")
        self.m = nn.EmbeddingBag(n, d, mode="max")
        self.s = nn.EmbeddingBag(n, d, mode="sum")

    def forward(self, words, offsets, w):
        return self.e(words, offsets), self.m(words, offsets), self.s(words, offsets, per_sample_weights=w)
