"""The sum with what came before, and its RMS norm: both go on."""

import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))

    def forward(self, x, residual):
        total = x + residual
        return total * torch.rsqrt(total.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight, total


def get_init_inputs():
    return [80]


def get_inputs():
    return [torch.randn(3, 7, 80), torch.randn(3, 7, 80)]
