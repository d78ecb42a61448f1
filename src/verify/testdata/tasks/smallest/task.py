"""The smallest of each row, and of groups."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, group):
        groups = torch.full((4,), torch.inf).scatter_reduce(0, group, x[:, 0], "amin", include_self=True)
        return x.amin(-1), groups


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(24, 12), torch.randint(0, 4, (24,))]
