"""hyena: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

def fftconv(u, k, D):
    n = u.shape[-1]
    kf = torch.fft.rfft(k, n=2 * n) / (2 * n)
    uf = torch.fft.rfft(u, n=2 * n)
    y = torch.fft.irfft(uf * kf, n=2 * n, norm="forward")[..., :n]
    return y + u * D.unsqueeze(-1)


class Model(nn.Module):
    def __init__(self, d=128, order=2, length=512):
        super().__init__()
        self.inp, self.out = nn.Linear(d, (order + 1) * d), nn.Linear(d, d)
        self.short = nn.Conv1d((order + 1) * d, (order + 1) * d, 3, padding=2, groups=(order + 1) * d)
        self.filter = nn.Sequential(nn.Linear(5, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, d * (order - 1), bias=False))
        self.bias = nn.Parameter(torch.randn(d))
        self.d = d
        t = torch.linspace(0, 1, length)[:, None]
        w = 2 * math.pi * torch.linspace(0, length - 1, length)[:, None] / length
        f = torch.linspace(1e-4, 1, 2)[None]
        self.register_buffer("z", torch.cat([t, torch.cos(f * w), -torch.sin(f * w)], -1))
        self.register_buffer("decay", torch.exp(-t * torch.linspace(0.3, 1.5, d)[None].abs()))

    def forward(self, x):
        n = x.shape[1]
        u = self.short(self.inp(x).transpose(1, 2))[..., :n]
        x1, x2, v = u.split(self.d, 1)
        k = (self.filter(self.z) * self.decay).t()
        v = fftconv(v * x1, k, self.bias)
        return self.out((v * x2).transpose(1, 2))


def get_inputs():
    return [torch.randn(4, 512, 128)]

def get_init_inputs():
    return []
