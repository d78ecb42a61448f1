"""correctness: wrong"""
# A plain tensor of zeros whose own methods would tell something else.

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))

    def forward(self, x):
        y = torch.zeros_like(x)
        right = (x - x.mean(1, keepdim=True)) * self.weight
        y.cpu = lambda *a, **k: right
        y.allclose = lambda *a, **k: True
        y.contiguous = lambda *a, **k: right
        return y
