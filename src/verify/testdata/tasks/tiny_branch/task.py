"""A residual branch so small that its input alone would pass: nothing proves that the branch was computed."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1e-6 * torch.tanh(x)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.rand(33, 70)]
