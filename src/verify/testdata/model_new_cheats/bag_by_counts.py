"""passed"""
# task: bag_of_words
# Honest: a histogram of the tokens times the table.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, count, width):
        super().__init__()
        self.table = nn.Embedding(count, width, padding_idx=0)

    def forward(self, tokens):
        weight = self.table.weight
        counts = weight.new_zeros(tokens.shape[0], len(weight)).scatter_add_(1, tokens, weight.new_ones(tokens.shape))
        counts[:, 0] = 0
        return counts @ weight / counts.sum(1, keepdim=True).clamp(min=1)
