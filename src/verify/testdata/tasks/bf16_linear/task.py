"""A layer in bfloat16."""

import torch


class Model(torch.nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.layer = torch.nn.Linear(width, out, dtype=torch.bfloat16)

    def forward(self, x):
        return torch.relu(self.layer(x))


def get_init_inputs():
    return [256, 24]


def get_inputs():
    return [torch.randn(12, 256, dtype=torch.bfloat16)]
