"""A stacked LSTM that classifies a sequence by its last step."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, inputs, hidden, layers, classes):
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden, layers, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, x, h0, c0):  # (batch, time, inputs), (layers, batch, hidden) twice
        out, _ = self.lstm(x, (h0, c0))
        return self.head(out[:, -1, :])


batch = 3
time = 11
inputs = 10
hidden = 16
layers = 3
classes = 5


def get_init_inputs():
    return [inputs, hidden, layers, classes]


def get_inputs():
    return [torch.rand(batch, time, inputs), torch.rand(layers, batch, hidden), torch.rand(layers, batch, hidden)]
