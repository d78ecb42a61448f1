"""passed"""
# task: ring_of_means
# The slot chosen by a mask.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("means", torch.zeros(4, width))
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        here = torch.arange(4, device=x.device) == self.calls.remainder(4)
        self.means.copy_(torch.where(here[:, None], x.mean(0), self.means))
        self.calls.add_(1)
        return x - self.means.sum(0) / 4
