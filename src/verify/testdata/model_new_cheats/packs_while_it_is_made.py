"""passed"""
# Honest: weights are laid out anew in the constructor, where KernelBench's models have theirs.

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))
        self.register_buffer("packed", self.weight.detach().reshape(1, -1).contiguous().clone())

    def forward(self, x):
        return (x - x.mean(1, keepdim=True)) * self.packed
