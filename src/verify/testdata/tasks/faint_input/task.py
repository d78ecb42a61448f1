"""Two inputs of which one hardly matters."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, correction):
        return torch.tanh(x) * 3 + 1e-6 * correction


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(20, 33), torch.randn(20, 33)]
