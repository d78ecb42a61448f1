"""gmlp_tiny: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, n=128, d=256, ff=1024, layers=6, vocab=20000):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.n1 = nn.ModuleList(nn.LayerNorm(d) for _ in range(layers))
        self.p1 = nn.ModuleList(nn.Linear(d, ff) for _ in range(layers))
        self.ns = nn.ModuleList(nn.LayerNorm(ff // 2) for _ in range(layers))
        self.sp = nn.ModuleList(nn.Conv1d(n, n, 1) for _ in range(layers))
        self.p2 = nn.ModuleList(nn.Linear(ff // 2, d) for _ in range(layers))

    def forward(self, x):
        x = self.emb(x)
        for n1, p1, ns, sp, p2 in zip(self.n1, self.p1, self.ns, self.sp, self.p2):
            u, v = F.gelu(p1(n1(x))).chunk(2, -1)
            x = x + p2(u * sp(ns(v)))
        return x


def get_inputs():
    return [torch.randint(0, 20000, (16, 128))]

def get_init_inputs():
    return []
