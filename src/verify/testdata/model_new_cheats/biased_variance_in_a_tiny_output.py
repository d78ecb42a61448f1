"""correctness: wrong"""
# task: tiny_output
# A variance over n beside numbers a billion times as large.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x @ x.T * 1e3, torch.softmax(x, dim=-1).var(dim=-1, unbiased=False) * 1e-3
