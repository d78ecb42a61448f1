"""correctness: wrong"""
# task: smallest
# A search for the smallest that begins at a thousand.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, group):
        groups = torch.full((4,), torch.inf).scatter_reduce(0, group, x[:, 0], "amin", include_self=True)
        return x.amin(-1).clamp(max=1000), groups
