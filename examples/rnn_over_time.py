"""A vanilla RNN unrolled over time by a Python loop, with an output at every step."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.update = nn.Linear(inputs + hidden, hidden)
        self.output = nn.Linear(hidden, outputs)

    def forward(self, x, hidden):  # (time, batch, inputs), (batch, hidden)
        outputs = []
        for step in range(x.size(0)):
            hidden = torch.tanh(self.update(torch.cat((x[step], hidden), dim=1)))
            outputs.append(self.output(hidden))
        return torch.stack(outputs, dim=0)  # (time, batch, outputs)


time = 12
batch = 3
inputs = 10
hidden = 16
outputs = 5


def get_init_inputs():
    return [inputs, hidden, outputs]


def get_inputs():
    return [torch.rand(time, batch, inputs), torch.rand(batch, hidden)]
