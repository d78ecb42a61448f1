"""alibi_decoder_fp16: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, d=768, h=12, layers=4):
        super().__init__()
        self.h = h
        self.ln = nn.ModuleList(nn.LayerNorm(d) for _ in range(2 * layers)).half()
        self.qkv = nn.ModuleList(nn.Linear(d, 3 * d) for _ in range(layers)).half()
        self.o = nn.ModuleList(nn.Linear(d, d) for _ in range(layers)).half()
        self.mlp = nn.ModuleList(nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)) for _ in range(layers)).half()

    def forward(self, x):
        b, n, d = x.shape
        slopes = torch.tensor([2 ** (-8 * (i + 1) / self.h) for i in range(self.h)], device=x.device)
        i = torch.arange(n, device=x.device)
        bias = slopes.view(-1, 1, 1) * (i.view(1, 1, -1) - (n - 1))
        mask = torch.triu(torch.full((n, n), float("-inf"), device=x.device), 1)
        bias = (bias + mask).to(x.dtype)
        for k in range(len(self.qkv)):
            q, kk, v = self.qkv[k](self.ln[2 * k](x)).chunk(3, -1)
            q, kk, v = (t.view(b, n, self.h, -1).transpose(1, 2) for t in (q, kk, v))
            s = (q @ kk.transpose(-1, -2)) / math.sqrt(q.shape[-1]) + bias
            a = s.float().softmax(-1).to(x.dtype) @ v
            x = x + self.o[k](a.transpose(1, 2).reshape(b, n, d))
            x = x + self.mlp[k](self.ln[2 * k + 1](x))
        return x


def get_inputs():
    return [torch.randn(2, 512, 768, dtype=torch.float16)]

def get_init_inputs():
    return []
