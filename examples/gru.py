"""A stacked GRU, time first, returning every step."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, inputs, hidden, layers):
        super().__init__()
        self.gru = nn.GRU(inputs, hidden, layers)

    def forward(self, x, h0):  # (time, batch, inputs), (layers, batch, hidden)
        output, _ = self.gru(x, h0)
        return output


time = 11
batch = 3
inputs = 10
hidden = 16
layers = 3


def get_init_inputs():
    return [inputs, hidden, layers]


def get_inputs():
    return [torch.rand(time, batch, inputs), torch.rand(layers, batch, hidden)]
