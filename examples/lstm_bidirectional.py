"""A bidirectional LSTM: the last step's features hold both directions."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, inputs, hidden, layers, classes):
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden, layers, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden, classes)

    def forward(self, x, h0, c0):  # (batch, time, inputs), (2 * layers, batch, hidden) twice
        out, _ = self.lstm(x, (h0, c0))
        return self.head(out[:, -1, :])


batch = 3
time = 9
inputs = 8
hidden = 12
layers = 2
classes = 5


def get_init_inputs():
    return [inputs, hidden, layers, classes]


def get_inputs():
    return [torch.rand(batch, time, inputs), torch.rand(2 * layers, batch, hidden), torch.rand(2 * layers, batch, hidden)]
