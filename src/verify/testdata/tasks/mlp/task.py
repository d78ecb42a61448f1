"""Two layers with a norm between them."""

import torch


class Model(torch.nn.Module):
    def __init__(self, width, hidden, out):
        super().__init__()
        self.first = torch.nn.Linear(width, hidden)
        self.norm = torch.nn.LayerNorm(hidden)
        self.second = torch.nn.Linear(hidden, out)

    def forward(self, x):
        return self.second(torch.relu(self.norm(self.first(x))))


def get_init_inputs():
    return [40, 64, 10]


def get_inputs():
    return [torch.randn(9, 40)]
