"""correctness: wrong"""
# task: three_bags
# Weights of either sign as if they were never negative.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.e = nn.EmbeddingBag(n, d, mode="mean", padding_idx=0)
        self.m = nn.EmbeddingBag(n, d, mode="max")
        self.s = nn.EmbeddingBag(n, d, mode="sum")

    def forward(self, words, offsets, w):
        return self.e(words, offsets), self.m(words, offsets), self.s(words, offsets, per_sample_weights=w.abs())
