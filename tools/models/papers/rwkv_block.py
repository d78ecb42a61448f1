"""rwkv_block: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, d=512):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.decay, self.first = nn.Parameter(torch.randn(d) * 0.1 - 1), nn.Parameter(torch.randn(d) * 0.1)
        self.mk, self.mv, self.mr = (nn.Parameter(torch.rand(1, 1, d)) for _ in range(3))
        self.ck, self.cr = (nn.Parameter(torch.rand(1, 1, d)) for _ in range(2))
        self.k, self.v, self.r, self.o = (nn.Linear(d, d, bias=False) for _ in range(4))
        self.fk, self.fv, self.fr = nn.Linear(d, 4 * d, bias=False), nn.Linear(4 * d, d, bias=False), nn.Linear(d, d, bias=False)
        self.shift = nn.ZeroPad2d((0, 0, 1, -1))

    def forward(self, x):
        h = self.ln1(x)
        s = self.shift(h)
        k = self.k(h * self.mk + s * (1 - self.mk))
        v = self.v(h * self.mv + s * (1 - self.mv))
        r = torch.sigmoid(self.r(h * self.mr + s * (1 - self.mr)))
        w = -torch.exp(self.decay)
        a = torch.zeros_like(k[:, 0]); b = torch.zeros_like(a); p = torch.full_like(a, -1e30)
        outs = []
        for t in range(x.shape[1]):
            kt, vt = k[:, t], v[:, t]
            ww = self.first + kt
            q = torch.maximum(p, ww)
            e1, e2 = torch.exp(p - q), torch.exp(ww - q)
            outs.append((e1 * a + e2 * vt) / (e1 * b + e2))
            ww = p + w
            q = torch.maximum(ww, kt)
            e1, e2 = torch.exp(ww - q), torch.exp(kt - q)
            a, b, p = e1 * a + e2 * vt, e1 * b + e2, q
        x = x + self.o(r * torch.stack(outs, 1))
        h = self.ln2(x)
        s = self.shift(h)
        k = torch.square(torch.relu(self.fk(h * self.ck + s * (1 - self.ck))))
        return x + torch.sigmoid(self.fr(h * self.cr + s * (1 - self.cr))) * self.fv(k)


def get_inputs():
    return [torch.randn(4, 64, 512)]

def get_init_inputs():
    return []
