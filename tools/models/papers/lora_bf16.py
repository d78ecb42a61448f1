"""lora_bf16: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class LoRA(nn.Module):
    def __init__(self, i, o, r=16, alpha=32):
        super().__init__()
        self.base = nn.Linear(i, o, bias=False)
        self.A, self.B = nn.Linear(i, r, bias=False), nn.Linear(r, o, bias=False)
        self.scale, self.drop = alpha / r, nn.Dropout(0.05)

    def forward(self, x):
        return self.base(x) + self.B(self.A(self.drop(x))) * self.scale


class Layer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.o = LoRA(d, d), nn.Linear(d, d, bias=False), LoRA(d, d), nn.Linear(d, d, bias=False)
        self.g, self.u, self.d = nn.Linear(d, 4 * d, bias=False), nn.Linear(d, 4 * d, bias=False), LoRA(4 * d, d)
        self.n1, self.n2 = nn.RMSNorm(d), nn.RMSNorm(d)

    def forward(self, x):
        b, n, d = x.shape
        h = self.n1(x)
        q, k, v = (f(h).view(b, n, self.h, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, n, d))
        h = self.n2(x)
        return x + self.d(F.silu(self.g(h)) * self.u(h))


class Model(nn.Module):
    def __init__(self, d=1024, layers=4):
        super().__init__()
        self.layers = nn.ModuleList(Layer(d, 16) for _ in range(layers)).to(torch.bfloat16)

    def forward(self, x):
        for l in self.layers:
            x = l(x)
        return x


def get_inputs():
    return [torch.randn(2, 512, 1024, dtype=torch.bfloat16)]

def get_init_inputs():
    return []
