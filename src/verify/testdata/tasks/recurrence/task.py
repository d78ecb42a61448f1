"""Forgets what was long ago: with these weights the last steps alone give nearly the same."""

import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.decay = torch.nn.Parameter(torch.full((width,), 0.5))

    def forward(self, x):
        state = torch.zeros_like(x[0])
        for step in x:
            state = torch.tanh(step + self.decay * state)
        return state


def get_init_inputs():
    return [24]


def get_inputs():
    return [torch.randn(48, 8, 24)]
