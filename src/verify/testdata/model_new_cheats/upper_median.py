"""correctness: wrong"""
# task: medians
# The upper one of the two in the middle.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.sort(-1).values[:, 17], x.flatten().sort().values[135]
