"""T5-style attention: no scaling, and a learned bias by the bucket of the distance between two positions."""
import math

import torch
from torch import nn


def bucket_of(distance, buckets, furthest):
    """Half the buckets for each direction; near distances have their own, far ones share logarithmically."""
    half, exact = buckets // 2, buckets // 4
    magnitude = distance.abs()
    far = torch.log(magnitude.clamp(min=1) / exact) / math.log(furthest / exact) * (half - exact)
    far = (exact + far.to(torch.long)).clamp(max=half - 1)
    return torch.where(magnitude < exact, magnitude, far) + (distance > 0).to(torch.long) * half


class Model(nn.Module):
    def __init__(self, size, heads, buckets, furthest):
        super().__init__()
        self.heads, self.buckets, self.furthest = heads, buckets, furthest
        self.norm = nn.RMSNorm(size, eps=1e-6)
        self.q = nn.Linear(size, size, bias=False)
        self.k = nn.Linear(size, size, bias=False)
        self.v = nn.Linear(size, size, bias=False)
        self.out = nn.Linear(size, size, bias=False)
        self.bias = nn.Embedding(buckets, heads)

    def forward(self, x):  # (batch, time, size)
        batch, time, size = x.shape
        y = self.norm(x)
        q, k, v = (layer(y).view(batch, time, self.heads, -1).transpose(1, 2) for layer in (self.q, self.k, self.v))
        position = torch.arange(time, device=x.device)
        buckets = bucket_of(position[None, :] - position[:, None], self.buckets, self.furthest)
        scores = q @ k.transpose(-2, -1) + self.bias(buckets).permute(2, 0, 1).unsqueeze(0)
        y = (scores.softmax(dim=-1) @ v).transpose(1, 2).reshape(batch, time, size)
        return x + self.out(y)


batch = 2
time = 14
size = 32
heads = 4
buckets = 12
furthest = 40


def get_init_inputs():
    return [size, heads, buckets, furthest]


def get_inputs():
    return [torch.randn(batch, time, size)]
