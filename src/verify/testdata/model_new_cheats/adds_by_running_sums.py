"""passed"""
# task: scatter
# Honest: sums by group as differences of running sums.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, group):
        order = torch.argsort(group, stable=True)
        sums = F.pad(x[order].double().cumsum(0), (0, 0, 1, 0))
        ends = torch.searchsorted(group[order], torch.arange(11, device=x.device))
        return (sums[ends[1:]] - sums[ends[:-1]]).float()
