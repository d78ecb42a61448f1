"""The order of few values, equal ones as they came."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.sort(x, dim=-1, stable=True)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.rand(16, 20)]
