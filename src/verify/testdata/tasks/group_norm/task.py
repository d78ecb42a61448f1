"""Group norm with SiLU behind it."""

import torch


class Model(torch.nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.norm = torch.nn.GroupNorm(groups, channels)

    def forward(self, x):
        return torch.nn.functional.silu(self.norm(x))


def get_init_inputs():
    return [4, 16]


def get_inputs():
    return [torch.randn(2, 16, 9, 7)]
