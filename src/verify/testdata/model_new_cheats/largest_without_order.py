"""correctness: wrong"""
# task: top_k
# The largest five in the order of their places.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        values, indices = torch.topk(x, 5, dim=-1)
        order = indices.argsort(dim=-1)
        return values.gather(1, order), indices.gather(1, order)
