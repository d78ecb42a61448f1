"""Layer norm, then GELU."""

import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)

    def forward(self, x):
        return torch.nn.functional.gelu(self.norm(x))


def get_init_inputs():
    return [96]


def get_inputs():
    return [torch.randn(6, 11, 96)]
