"""correctness: wrong"""
# task: middle
# Sorts in bfloat16.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        ordered = torch.sort(x.bfloat16(), dim=-1).values.float()
        return ordered, ordered[..., 32]
