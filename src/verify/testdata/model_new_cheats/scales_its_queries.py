"""passed"""
# task: grouped_attention
# Honest: the scale before the product.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, d, h, g):
        super().__init__()
        self.h, self.g = h, g
        self.q, self.k, self.v, self.o = nn.Linear(d, d), nn.Linear(d, d * g // h), nn.Linear(d, d * g // h), nn.Linear(d, d)
        a = torch.arange(64)[:, None] / 10000 ** (torch.arange(0, d // h, 2) / (d // h))
        self.register_buffer("cos", a.cos(), persistent=False)
        self.register_buffer("sin", a.sin(), persistent=False)

    def turn(self, x, p):
        c, s = self.cos[p][:, None], self.sin[p][:, None]
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2)

    def forward(self, x, pad, p):
        n, l, d = x.shape
        q = self.turn(self.q(x).view(n, l, self.h, -1).transpose(1, 2), p)
        k = self.turn(self.k(x).view(n, l, self.g, -1).transpose(1, 2), p)
        v = self.v(x).view(n, l, self.g, -1).transpose(1, 2)
        k, v = k.repeat_interleave(self.h // self.g, 1), v.repeat_interleave(self.h // self.g, 1)
        s = (q * (d // self.h) ** -0.5) @ k.mT
        m = torch.ones(l, l, dtype=torch.bool).tril() & pad[:, None, None, :]
        s = s.masked_fill(~m, float("-inf"))
        w = torch.softmax(30.0 * torch.tanh(s / 30.0), -1)
        return self.o((w @ v).transpose(1, 2).reshape(n, l, d))
