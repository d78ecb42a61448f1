"""passed"""
# task: bag_of_words
# Honest: PyTorch's bag of embeddings.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, count, width):
        super().__init__()
        self.table = nn.Embedding(count, width, padding_idx=0)

    def forward(self, tokens):
        return F.embedding_bag(tokens, self.table.weight, mode="mean", padding_idx=0)
