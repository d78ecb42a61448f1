"""passed"""
# Honest, though labelled: torch.compile does the work, where there is a GPU.

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))
        self.compiled = torch.compile(self.compute) if torch.cuda.is_available() else self.compute

    def compute(self, x):
        return (x - x.mean(1, keepdim=True)) * self.weight

    def forward(self, x):
        return self.compiled(x)
