"""A convolution, whose rounding hides much, then a group norm and GELU."""

import torch


class Model(torch.nn.Module):
    def __init__(self, channels, filters, groups):
        super().__init__()
        self.conv = torch.nn.Conv2d(channels, filters, 3, padding=1)
        self.norm = torch.nn.GroupNorm(groups, filters)

    def forward(self, x):
        return torch.nn.functional.gelu(self.norm(self.conv(x)))


def get_init_inputs():
    return [3, 8, 4]


def get_inputs():
    return [torch.rand(4, 3, 24, 24)]
