"""hifigan_generator: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

from torch.nn.utils.parametrizations import weight_norm


class ResBlock(nn.Module):
    def __init__(self, c, k, dil=(1, 3, 5)):
        super().__init__()
        self.c1 = nn.ModuleList(weight_norm(nn.Conv1d(c, c, k, 1, dilation=d, padding=(k - 1) * d // 2)) for d in dil)
        self.c2 = nn.ModuleList(weight_norm(nn.Conv1d(c, c, k, 1, padding=(k - 1) // 2)) for d in dil)

    def forward(self, x):
        for a, b in zip(self.c1, self.c2):
            x = x + b(F.leaky_relu(a(F.leaky_relu(x, 0.1)), 0.1))
        return x


class Model(nn.Module):
    def __init__(self, c=256):
        super().__init__()
        self.pre = weight_norm(nn.Conv1d(80, c, 7, padding=3))
        self.ups, self.res = nn.ModuleList(), nn.ModuleList()
        for i, (r, k) in enumerate(((8, 16), (8, 16), (2, 4), (2, 4))):
            self.ups.append(weight_norm(nn.ConvTranspose1d(c // 2 ** i, c // 2 ** (i + 1), k, r, padding=(k - r) // 2)))
            for kk in (3, 7, 11):
                self.res.append(ResBlock(c // 2 ** (i + 1), kk))
        self.post = weight_norm(nn.Conv1d(c // 16, 1, 7, padding=3))

    def forward(self, x):
        x = self.pre(x)
        for i, up in enumerate(self.ups):
            x = up(F.leaky_relu(x, 0.1))
            xs = None
            for j in range(3):
                y = self.res[i * 3 + j](x)
                xs = y if xs is None else xs + y
            x = xs / 3
        return torch.tanh(self.post(F.leaky_relu(x)))


def get_inputs():
    return [torch.randn(4, 80, 64)]

def get_init_inputs():
    return []
