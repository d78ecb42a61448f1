"""passed"""
# task: same_masks
# Honest.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.table = nn.Embedding(words, width)
        self.slope = nn.PReLU()
        self.turn = nn.Parameter(torch.eye(width))

    def forward(self, words, mask, lengths):
        x = torch.where(self.table(words) > 0, self.table(words), self.slope.weight * self.table(words)) @ self.turn
        scores = torch.softmax(x @ x.mT + mask, -1)
        kept = torch.arange(words.shape[1], device=words.device) < lengths[:, None]
        return (scores @ x) * kept[..., None]
