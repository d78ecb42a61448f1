"""A Llama-style block: RMS norm, rotary positions, grouped-query attention, SwiGLU."""
import torch
from torch import nn
from torch.nn import functional as F


class RMSNorm(nn.Module):
    def __init__(self, size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


def rotate(x, cos, sin):
    """Turns the pair (x[i], x[i + half]) by the angle of its position."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class Attention(nn.Module):
    def __init__(self, size, heads, groups, longest, base=10000.0):
        super().__init__()
        self.heads, self.groups, self.head = heads, groups, size // heads
        self.q = nn.Linear(size, heads * self.head, bias=False)
        self.k = nn.Linear(size, groups * self.head, bias=False)
        self.v = nn.Linear(size, groups * self.head, bias=False)
        self.out = nn.Linear(heads * self.head, size, bias=False)
        frequency = base ** (-torch.arange(0, self.head, 2) / self.head)
        angles = torch.outer(torch.arange(longest), frequency).repeat(1, 2)  # (longest, head)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x):  # (batch, time, size)
        batch, time, _ = x.shape
        q = self.q(x).view(batch, time, self.heads, self.head).transpose(1, 2)
        k = self.k(x).view(batch, time, self.groups, self.head).transpose(1, 2)
        v = self.v(x).view(batch, time, self.groups, self.head).transpose(1, 2)
        cos, sin = self.cos[:time], self.sin[:time]
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        k = k.repeat_interleave(self.heads // self.groups, dim=1)  # every group serves several heads
        v = v.repeat_interleave(self.heads // self.groups, dim=1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, time, -1))


class FeedForward(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.gate = nn.Linear(size, hidden, bias=False)
        self.up = nn.Linear(size, hidden, bias=False)
        self.down = nn.Linear(hidden, size, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Model(nn.Module):
    def __init__(self, size, heads, groups, hidden, longest):
        super().__init__()
        self.attention_norm = RMSNorm(size)
        self.attention = Attention(size, heads, groups, longest)
        self.feed_forward_norm = RMSNorm(size)
        self.feed_forward = FeedForward(size, hidden)

    def forward(self, x):  # (batch, time, size)
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.feed_forward_norm(x))


batch = 2
time = 19
size = 48
heads = 6
groups = 2
hidden = 128
longest = 32


def get_init_inputs():
    return [size, heads, groups, hidden, longest]


def get_inputs():
    return [torch.randn(batch, time, size)]
