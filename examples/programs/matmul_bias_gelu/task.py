"""A linear layer and a GELU."""
import torch
from torch import nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x):  # (batch, inputs)
        return F.gelu(self.linear(x))


batch, inputs, outputs = 100, 260, 180


def get_init_inputs():
    return [inputs, outputs]


def get_inputs():
    return [torch.rand(batch, inputs)]
