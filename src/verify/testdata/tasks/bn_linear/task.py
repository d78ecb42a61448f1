"""A layer, batch norm for use, a scale."""

import torch


class Model(torch.nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.layer = torch.nn.Linear(width, out)
        self.norm = torch.nn.BatchNorm1d(out)
        self.scale = torch.nn.Parameter(torch.ones(1))
        self.eval()

    def forward(self, x):
        return torch.softmax(self.scale * self.norm(self.layer(x)), dim=-1)


def get_init_inputs():
    return [48, 20]


def get_inputs():
    return [torch.randn(11, 48)]
