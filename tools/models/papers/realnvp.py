"""realnvp: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Coupling(nn.Module):
    def __init__(self, d, h, flip):
        super().__init__()
        self.s = nn.Sequential(nn.Linear(d // 2, h), nn.LeakyReLU(), nn.Linear(h, h), nn.LeakyReLU(), nn.Linear(h, d // 2), nn.Tanh())
        self.t = nn.Sequential(nn.Linear(d // 2, h), nn.LeakyReLU(), nn.Linear(h, h), nn.LeakyReLU(), nn.Linear(h, d // 2))
        self.flip = flip

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        s, t = self.s(a), self.t(a)
        b = b * torch.exp(s) + t
        return torch.cat([b, a] if self.flip else [a, b], 1), s.sum(1)


class Model(nn.Module):
    def __init__(self, d=64, n=8):
        super().__init__()
        self.f = nn.ModuleList(Coupling(d, 256, k % 2 == 1) for k in range(n))
        self.register_buffer("perm", torch.randperm(d))

    def forward(self, x):
        logdet = torch.zeros(x.shape[0], device=x.device)
        for f in self.f:
            x, l = f(x)
            x = x[:, self.perm]
            logdet = logdet + l
        prior = -0.5 * (x ** 2 + math.log(2 * math.pi)).sum(1)
        return x, prior + logdet


def get_inputs():
    return [torch.randn(4096, 64)]

def get_init_inputs():
    return []
