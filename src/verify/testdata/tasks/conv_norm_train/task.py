"""Convolution and batch norm while training: statistics of the batch, running ones renewed."""

import torch


class Model(torch.nn.Module):
    def __init__(self, channels, filters):
        super().__init__()
        self.conv = torch.nn.Conv2d(channels, filters, 3)
        self.norm = torch.nn.BatchNorm2d(filters)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)))


def get_init_inputs():
    return [3, 8]


def get_inputs():
    return [torch.rand(4, 3, 10, 10)]
