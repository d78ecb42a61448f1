"""A GPT block: causal self-attention and a GELU feed-forward, each behind a layer norm and a residual."""
import math

import torch
from torch import nn
from torch.nn import functional as F


class NewGELU(nn.Module):
    """GPT-2's tanh form, spelled out as its authors did."""

    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class CausalSelfAttention(nn.Module):
    def __init__(self, size, heads, longest):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(size, 3 * size)
        self.proj = nn.Linear(size, size)
        self.dropout = nn.Dropout(0.0)
        self.register_buffer("triangle", torch.tril(torch.ones(longest, longest)).view(1, 1, longest, longest))

    def forward(self, x):  # (batch, time, size)
        batch, time, size = x.size()
        q, k, v = self.qkv(x).split(size, dim=2)
        q = q.view(batch, time, self.heads, size // self.heads).transpose(1, 2)
        k = k.view(batch, time, self.heads, size // self.heads).transpose(1, 2)
        v = v.view(batch, time, self.heads, size // self.heads).transpose(1, 2)
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.triangle[:, :, :time, :time] == 0, float("-inf"))
        y = self.dropout(F.softmax(scores, dim=-1)) @ v  # (batch, heads, time, size / heads)
        return self.proj(y.transpose(1, 2).contiguous().view(batch, time, size))


class Model(nn.Module):
    def __init__(self, size, heads, longest):
        super().__init__()
        self.norm1 = nn.LayerNorm(size)
        self.attention = CausalSelfAttention(size, heads, longest)
        self.norm2 = nn.LayerNorm(size)
        self.mlp = nn.Sequential(nn.Linear(size, 4 * size), NewGELU(), nn.Linear(4 * size, size), nn.Dropout(0.0))

    def forward(self, x):  # (batch, time, size)
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


batch = 2
time = 21
size = 48
heads = 4
longest = 32


def get_init_inputs():
    return [size, heads, longest]


def get_inputs():
    return [torch.rand(batch, time, size)]
