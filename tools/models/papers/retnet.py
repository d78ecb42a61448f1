"""retnet: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Retention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.k = h, d // h
        self.q, self.kk, self.v, self.g, self.o = (nn.Linear(d, d, bias=False) for _ in range(5))
        self.gn = nn.GroupNorm(h, d)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (f(x).view(b, n, self.h, self.k).transpose(1, 2) for f in (self.q, self.kk, self.v))
        gamma = 1 - torch.exp(torch.linspace(math.log(1 / 32), math.log(1 / 512), self.h, device=x.device))
        i = torch.arange(n, device=x.device)
        diff = (i.unsqueeze(1) - i.unsqueeze(0)).float()
        D = torch.where(diff >= 0, gamma.view(-1, 1, 1) ** diff.clamp(min=0), torch.zeros_like(diff))
        s = (q @ k.transpose(-1, -2)) * self.k ** -0.5 * D.unsqueeze(0).to(x.dtype)
        y = (s @ v).transpose(1, 2).reshape(b * n, d)
        y = self.gn(y).view(b, n, d)
        return self.o(F.silu(self.g(x)) * y)


class Model(nn.Module):
    def __init__(self, d=512, layers=4):
        super().__init__()
        self.n1 = nn.ModuleList(nn.LayerNorm(d) for _ in range(layers))
        self.n2 = nn.ModuleList(nn.LayerNorm(d) for _ in range(layers))
        self.r = nn.ModuleList(Retention(d, 8) for _ in range(layers))
        self.f = nn.ModuleList(nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d)) for _ in range(layers))

    def forward(self, x):
        for n1, r, n2, f in zip(self.n1, self.r, self.n2, self.f):
            x = x + r(n1(x))
            x = x + f(n2(x))
        return x


def get_inputs():
    return [torch.randn(4, 512, 512)]

def get_init_inputs():
    return []
