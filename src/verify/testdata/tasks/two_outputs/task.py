"""A sum and a product: nobody may look at the first alone."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        return x + y, x * y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(40, 30), torch.randn(40, 30)]
