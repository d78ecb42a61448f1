"""A bidirectional GRU that returns only the final hidden state of each layer and direction."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, inputs, hidden, layers):
        super().__init__()
        self.gru = nn.GRU(inputs, hidden, layers, bidirectional=True)

    def forward(self, x, h0):  # (time, batch, inputs), (2 * layers, batch, hidden)
        _, final = self.gru(x, h0)
        return final


time = 9
batch = 3
inputs = 8
hidden = 12
layers = 2


def get_init_inputs():
    return [inputs, hidden, layers]


def get_inputs():
    return [torch.rand(time, batch, inputs), torch.rand(2 * layers, batch, hidden)]
