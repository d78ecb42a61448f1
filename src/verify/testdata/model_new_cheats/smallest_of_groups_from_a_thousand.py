"""correctness: wrong"""
# task: smallest
# The same of groups.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, group):
        groups = torch.full((4,), 1000.0).scatter_reduce(0, group, x[:, 0], "amin", include_self=True)
        counts = torch.zeros(4).index_add(0, group, torch.ones(len(group)))
        return x.amin(-1), torch.where(counts > 0, groups, torch.inf)
