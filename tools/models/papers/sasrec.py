"""sasrec: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, items=50000, d=64, blocks=2, heads=1, length=200):
        super().__init__()
        self.item, self.pos = nn.Embedding(items + 1, d, padding_idx=0), nn.Embedding(length, d)
        self.an = nn.ModuleList(nn.LayerNorm(d, eps=1e-8) for _ in range(blocks))
        self.al = nn.ModuleList(nn.MultiheadAttention(d, heads, 0.2) for _ in range(blocks))
        self.fn = nn.ModuleList(nn.LayerNorm(d, eps=1e-8) for _ in range(blocks))
        self.f1 = nn.ModuleList(nn.Conv1d(d, d, 1) for _ in range(blocks))
        self.f2 = nn.ModuleList(nn.Conv1d(d, d, 1) for _ in range(blocks))
        self.last = nn.LayerNorm(d, eps=1e-8)
        self.d = d

    def forward(self, seq, candidates):
        x = self.item(seq) * self.d ** 0.5
        x = x + self.pos(torch.arange(seq.shape[1], device=seq.device)).unsqueeze(0)
        pad = seq == 0
        x = x * (~pad).unsqueeze(-1)
        n = seq.shape[1]
        mask = ~torch.tril(torch.ones((n, n), dtype=torch.bool, device=seq.device))
        for an, al, fn, f1, f2 in zip(self.an, self.al, self.fn, self.f1, self.f2):
            x = x.transpose(0, 1)
            q = an(x)
            y, _ = al(q, x, x, attn_mask=mask)
            x = (q + y).transpose(0, 1)
            h = fn(x)
            x = h + f2(F.relu(f1(h.transpose(-1, -2)))).transpose(-1, -2)
            x = x * (~pad).unsqueeze(-1)
        final = self.last(x)[:, -1, :]
        return self.item(candidates).matmul(final.unsqueeze(-1)).squeeze(-1)


def get_inputs():
    return [torch.randint(0, 50000, (128, 200)), torch.randint(1, 50000, (128, 101))]

def get_init_inputs():
    return []
