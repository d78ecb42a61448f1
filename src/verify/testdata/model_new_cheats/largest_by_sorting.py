"""passed"""
# task: top_k
# Honest: a sort, cut off.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        values, indices = torch.sort(x, dim=-1, descending=True, stable=True)
        return values[:, :5], indices[:, :5]
