"""Statistics of the batch, and running ones that the call renews; gamma is 1 and beta 0 as made."""

import torch


class Model(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(channels)

    def forward(self, x):
        return self.norm(x)


def get_init_inputs():
    return [17]


def get_inputs():
    return [torch.randn(40, 17)]
