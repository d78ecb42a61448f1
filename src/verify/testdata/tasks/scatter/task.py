"""Rows added up by the group that each belongs to."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, group):
        return torch.zeros(10, x.shape[1], dtype=x.dtype, device=x.device).index_add(0, group, x)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(60, 12), torch.randint(0, 10, (60,))]
