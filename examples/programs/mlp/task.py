"""Two linear layers with a ReLU between them."""
import torch
from torch import nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.fc1 = nn.Linear(inputs, hidden)
        self.fc2 = nn.Linear(hidden, outputs)

    def forward(self, x):  # (batch, inputs)
        return self.fc2(F.relu(self.fc1(x)))


batch, inputs, hidden, outputs = 60, 256, 500, 100


def get_init_inputs():
    return [inputs, hidden, outputs]


def get_inputs():
    return [torch.rand(batch, inputs)]
