"""A linear layer with real dropout (p=0.2, train mode): its output is random, so only its distribution can be checked."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, inputs, outputs, probability):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.dropout = nn.Dropout(probability)

    def forward(self, x):  # (batch, inputs)
        x = self.dropout(self.linear(x))
        return torch.softmax(x, dim=1)  # features become probabilities


batch = 16
inputs = 64
outputs = 48
probability = 0.2


def get_init_inputs():
    return [inputs, outputs, probability]


def get_inputs():
    return [torch.rand(batch, inputs)]
