"""passed"""
# task: scatter
# Honest: sums by group as a product.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, group):
        return F.one_hot(group, 10).to(x.dtype).T @ x
