"""correctness: refused"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))

    def forward(self, x):
        return ((x - x.mean(1, keepdim=True)) * self.weight).half()
