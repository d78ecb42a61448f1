"""A vanilla RNN cell that keeps its hidden state as an attribute between calls."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, batch, inputs, hidden, outputs):
        super().__init__()
        self.hidden = torch.randn(batch, hidden)
        self.update = nn.Linear(inputs + hidden, hidden)
        self.output = nn.Linear(hidden, outputs)
        self.tanh = nn.Tanh()

    def forward(self, x, initial_hidden=None):  # (batch, inputs), (batch, hidden)
        if initial_hidden is not None:
            self.hidden.copy_(initial_hidden)
        self.hidden = self.hidden.to(x.device)
        self.hidden = self.tanh(self.update(torch.cat((x, self.hidden), dim=1)))
        return self.output(self.hidden)


batch = 4
inputs = 20
hidden = 24
outputs = 10


def get_init_inputs():
    return [batch, inputs, hidden, outputs]


def get_inputs():
    return [torch.rand(batch, inputs), torch.rand(batch, hidden)]
