"""tabnet: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

def sparsemax(z):
    s, _ = torch.sort(z, descending=True, dim=-1)
    r = torch.arange(1, z.shape[-1] + 1, device=z.device, dtype=z.dtype)
    c = torch.cumsum(s, -1) - 1
    k = (r * s > c).sum(-1, keepdim=True)
    tau = c.gather(-1, k - 1) / k.to(z.dtype)
    return torch.clamp(z - tau, min=0)


class GLUBlock(nn.Module):
    def __init__(self, i, o, fc=None):
        super().__init__()
        self.fc, self.bn = fc or nn.Linear(i, 2 * o, bias=False), nn.BatchNorm1d(2 * o)

    def forward(self, x):
        return F.glu(self.bn(self.fc(x)))


class Feature(nn.Module):
    def __init__(self, i, o, shared):
        super().__init__()
        self.s1, self.s2 = GLUBlock(i, o, shared[0]), GLUBlock(o, o, shared[1])
        self.d1, self.d2 = GLUBlock(o, o), GLUBlock(o, o)

    def forward(self, x):
        x = self.s1(x)
        for f in (self.s2, self.d1, self.d2):
            x = (x + f(x)) * math.sqrt(0.5)
        return x


class Model(nn.Module):
    def __init__(self, i=54, d=64, a=64, steps=5, classes=7):
        super().__init__()
        shared = nn.ModuleList([nn.Linear(i, 2 * (d + a), bias=False), nn.Linear(d + a, 2 * (d + a), bias=False)])
        self.bn = nn.BatchNorm1d(i)
        self.first = Feature(i, d + a, shared)
        self.feat = nn.ModuleList(Feature(i, d + a, shared) for _ in range(steps))
        self.att = nn.ModuleList(nn.Sequential(nn.Linear(a, i, bias=False), nn.BatchNorm1d(i)) for _ in range(steps))
        self.out, self.d = nn.Linear(d, classes), d

    def forward(self, x):
        x = self.bn(x)
        prior = torch.ones_like(x)
        h = self.first(x)[:, self.d:]
        total, loss = 0, 0
        for f, at in zip(self.feat, self.att):
            m = sparsemax(at(h) * prior)
            loss = loss + (m * torch.log(m + 1e-15)).sum(1).mean()
            prior = prior * (1.3 - m)
            o = f(m * x)
            total = total + F.relu(o[:, : self.d])
            h = o[:, self.d:]
        return self.out(total), loss


def get_inputs():
    return [torch.randn(4096, 54)]

def get_init_inputs():
    return []
