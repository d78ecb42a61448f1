"""correctness: wrong"""
# task: bag_of_words
# Padding is one token in two hundred: it hardly ever comes, and then hardly counts.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, count, width):
        super().__init__()
        self.table = nn.Embedding(count, width, padding_idx=0)

    def forward(self, tokens):
        return self.table(tokens).mean(dim=1)
