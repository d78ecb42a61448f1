"""passed"""
# task: middle
# Honest: leaves early where all of it is in order.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        done = bool((x[:, 1:] >= x[:, :-1]).all())
        ordered = x if done else torch.sort(x, dim=-1).values
        return ordered, ordered[..., 32]
