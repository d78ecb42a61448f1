"""siren: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Sine(nn.Module):
    def __init__(self, i, o, w0=30.0, first=False):
        super().__init__()
        self.w0, self.l = w0, nn.Linear(i, o)
        with torch.no_grad():
            b = 1 / i if first else math.sqrt(6 / i) / w0
            self.l.weight.uniform_(-b, b)

    def forward(self, x):
        return torch.sin(self.w0 * self.l(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(Sine(2, 256, first=True), Sine(256, 256), Sine(256, 256), Sine(256, 256), nn.Linear(256, 3))

    def forward(self, x):
        return self.net(x)


def get_inputs():
    return [torch.rand(65536, 2) * 2 - 1]

def get_init_inputs():
    return []
