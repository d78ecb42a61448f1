"""Bags of words: a mean without padding, a maximum, a weighted sum."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.e = nn.EmbeddingBag(n, d, mode="mean", padding_idx=0)
        self.m = nn.EmbeddingBag(n, d, mode="max")
        self.s = nn.EmbeddingBag(n, d, mode="sum")

    def forward(self, words, offsets, w):
        return self.e(words, offsets), self.m(words, offsets), self.s(words, offsets, per_sample_weights=w)


def get_init_inputs():
    return [30, 8]


def get_inputs():
    return [torch.randint(1, 30, (20,)), torch.tensor([0, 4, 9, 15]), torch.rand(20)]
