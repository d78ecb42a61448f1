"""passed"""
# task: tiny_output
# Honest: two sizes of outputs.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        p = torch.softmax(x, dim=-1)
        return torch.mm(x, x.T) * 1e3, (p - p.mean(-1, keepdim=True)).square().sum(-1) / 39 * 1e-3
