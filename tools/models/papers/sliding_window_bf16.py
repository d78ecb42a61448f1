"""sliding_window_bf16: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, d=1024, h=16, kv=4, w=128):
        super().__init__()
        self.h, self.kv, self.w, self.k = h, kv, w, d // h
        self.q, self.kk, self.v, self.o = (nn.Linear(d, o, bias=False) for o in (d, kv * self.k, kv * self.k, d))
        self.n = nn.RMSNorm(d)
        self.to(torch.bfloat16)

    def forward(self, x, cos, sin):
        b, n, d = x.shape
        y = self.n(x)
        q = self.q(y).view(b, n, self.h, self.k).transpose(1, 2)
        k = self.kk(y).view(b, n, self.kv, self.k).transpose(1, 2)
        v = self.v(y).view(b, n, self.kv, self.k).transpose(1, 2)
        def rot(t):
            a, c = t[..., : self.k // 2], t[..., self.k // 2:]
            return t * cos + torch.cat((-c, a), -1) * sin
        q, k = rot(q), rot(k)
        k, v = k.repeat_interleave(self.h // self.kv, 1), v.repeat_interleave(self.h // self.kv, 1)
        i = torch.arange(n, device=x.device)
        keep = (i[None] <= i[:, None]) & (i[None] > i[:, None] - self.w)
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        return x + self.o(a.transpose(1, 2).reshape(b, n, d))


def get_inputs():
    return [torch.randn(2, 1024, 1024, dtype=torch.bfloat16), torch.randn(1024, 64, dtype=torch.bfloat16), torch.randn(1024, 64, dtype=torch.bfloat16)]

def get_init_inputs():
    return []
