"""passed"""
# task: counts
# Honest: counts by a product with ones.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        positive = torch.gt(x, 0.25)
        return (positive.float() @ x.new_ones(x.shape[1])).to(torch.int64), positive, torch.max(x, 1).indices
