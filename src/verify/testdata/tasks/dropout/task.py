"""Dropout while training, behind a layer."""

import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = torch.nn.Linear(width, width)
        self.dropout = torch.nn.Dropout(0.1)

    def forward(self, x):
        return self.dropout(self.layer(x))


def get_init_inputs():
    return [32]


def get_inputs():
    return [torch.randn(16, 32)]
