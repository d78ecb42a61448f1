"""Attention with a mask that lets everything through."""

import math
import torch


class Model(torch.nn.Module):
    def forward(self, q, k, v, mask):
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1) @ v


def get_init_inputs():
    return []


def get_inputs():
    return [torch.rand(2, 19, 16), torch.rand(2, 19, 16), torch.rand(2, 19, 16), torch.ones(19, 19, dtype=torch.bool)]
