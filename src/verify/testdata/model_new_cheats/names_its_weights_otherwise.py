"""passed"""
# Honest: the task's weight by another name, drawn as the task draws it.

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gamma = torch.nn.Parameter(torch.randn(width))

    def forward(self, x):
        return (x - x.mean(1, keepdim=True)) * self.gamma
