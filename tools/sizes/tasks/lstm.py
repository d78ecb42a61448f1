import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.rnn = nn.LSTM(128, 256, 2, batch_first=True)
        self.head = nn.Linear(256, 10)

    def forward(self, x):
        y, _ = self.rnn(x)
        return self.head(y[:, -1])


def get_init_inputs():
    return []


def get_inputs(batch=8, length=64):
    return [torch.randn(batch, length, 128)]


def get_dynamic_shapes():
    return {"x": {0: ("batch", 1, 16), 1: ("length", 1, 512)}}
