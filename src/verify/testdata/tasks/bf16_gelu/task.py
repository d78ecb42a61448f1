"""GELU between two layers in bfloat16, with few outputs."""

import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.b = torch.nn.Linear(width, 2 * width), torch.nn.Linear(2 * width, width)
        self.to(torch.bfloat16)

    def forward(self, x):
        return self.b(F.gelu(self.a(x)))


def get_init_inputs():
    return [64]


def get_inputs():
    return [torch.randn(12, 64).to(torch.bfloat16)]
