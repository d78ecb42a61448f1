"""conformer: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class FeedForward(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.SiLU(), nn.Dropout(0.1), nn.Linear(4 * d, d), nn.Dropout(0.1))

    def forward(self, x):
        return self.net(x)


class ConvModule(nn.Module):
    def __init__(self, d, k=31):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.pw1 = nn.Conv1d(d, 2 * d, 1)
        self.dw = nn.Conv1d(d, d, k, padding=k // 2, groups=d)
        self.bn = nn.BatchNorm1d(d)
        self.pw2 = nn.Conv1d(d, d, 1)

    def forward(self, x):
        x = self.norm(x).transpose(1, 2)
        x = F.glu(self.pw1(x), dim=1)
        x = F.silu(self.bn(self.dw(x)))
        return self.pw2(x).transpose(1, 2)


class RelAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.k = h, d // h
        self.q, self.kk, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.pos = nn.Linear(d, d, bias=False)
        self.u, self.w = nn.Parameter(torch.randn(h, d // h) * 0.02), nn.Parameter(torch.randn(h, d // h) * 0.02)

    def shift(self, s):
        b, h, t, n = s.shape
        s = F.pad(s, (1, 0)).view(b, h, n + 1, t)
        return s[:, :, 1:].view(b, h, t, n)[:, :, :, : n // 2 + 1]

    def forward(self, x, pe):
        b, t, _ = x.shape
        q = self.q(x).view(b, t, self.h, self.k)
        k = self.kk(x).view(b, t, self.h, self.k).transpose(1, 2)
        v = self.v(x).view(b, t, self.h, self.k).transpose(1, 2)
        p = self.pos(pe).view(1, -1, self.h, self.k).transpose(1, 2)
        ac = (q + self.u).transpose(1, 2) @ k.transpose(-2, -1)
        bd = self.shift((q + self.w).transpose(1, 2) @ p.transpose(-2, -1))
        a = torch.softmax((ac + bd) / math.sqrt(self.k), -1)
        return self.o((a @ v).transpose(1, 2).reshape(b, t, -1))


class Block(nn.Module):
    def __init__(self, d=256, h=4):
        super().__init__()
        self.ff1, self.ff2, self.conv = FeedForward(d), FeedForward(d), ConvModule(d)
        self.att, self.na, self.nf = RelAttention(d, h), nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x, pe):
        x = x + 0.5 * self.ff1(x)
        x = x + self.att(self.na(x), pe)
        x = x + self.conv(x)
        x = x + 0.5 * self.ff2(x)
        return self.nf(x)


class Model(nn.Module):
    def __init__(self, d=256, layers=4):
        super().__init__()
        self.sub = nn.Sequential(nn.Conv2d(1, d, 3, 2), nn.ReLU(), nn.Conv2d(d, d, 3, 2), nn.ReLU())
        self.lin = nn.Linear(d * 19, d)
        self.blocks = nn.ModuleList(Block(d) for _ in range(layers))
        self.d = d

    def forward(self, x):
        x = self.sub(x.unsqueeze(1))
        b, c, t, f = x.shape
        x = self.lin(x.transpose(1, 2).reshape(b, t, c * f))
        pos = torch.arange(t - 1, -t, -1, device=x.device, dtype=x.dtype).unsqueeze(1)
        div = torch.exp(torch.arange(0, self.d, 2, device=x.device, dtype=x.dtype) * (-math.log(10000.0) / self.d))
        pe = torch.zeros(2 * t - 1, self.d, device=x.device, dtype=x.dtype)
        pe[:, 0::2] = torch.sin(pos * div)
        pe[:, 1::2] = torch.cos(pos * div)
        for block in self.blocks:
            x = block(x, pe.unsqueeze(0))
        return x


def get_inputs():
    return [torch.randn(4, 800, 80)]

def get_init_inputs():
    return []
