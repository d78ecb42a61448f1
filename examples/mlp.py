"""A multilayer perceptron: linear layers with ReLU between them."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        layers = []
        for size_in, size_out in zip([inputs, *hidden], hidden):
            layers += [nn.Linear(size_in, size_out), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Linear(hidden[-1], outputs))

    def forward(self, x):  # (batch, inputs)
        return self.layers(x)


batch = 16
inputs = 100
hidden = [64, 48, 33]
outputs = 10


def get_init_inputs():
    return [inputs, hidden, outputs]


def get_inputs():
    return [torch.rand(batch, inputs)]
