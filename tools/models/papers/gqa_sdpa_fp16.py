"""gqa_sdpa_fp16: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    """Grouped queries with sdpa(enable_gqa), rotary by cached cos/sin, softcap, sliding mask, QK norm, in fp16."""
    def __init__(self, d=1024, h=16, kv=4, n=512, window=128):
        super().__init__()
        self.h, self.kv, self.hd, self.window = h, kv, d // h, window
        self.q, self.k, self.v, self.o = nn.Linear(d, d, bias=False), nn.Linear(d, kv * self.hd, bias=False), nn.Linear(d, kv * self.hd, bias=False), nn.Linear(d, d, bias=False)
        self.qn, self.kn = nn.RMSNorm(self.hd), nn.RMSNorm(self.hd)
        inv = 1.0 / (10000 ** (torch.arange(0, self.hd, 2).float() / self.hd))
        f = torch.outer(torch.arange(n).float(), inv)
        self.register_buffer("cos", torch.cat([f, f], -1).cos())
        self.register_buffer("sin", torch.cat([f, f], -1).sin())
        self.half()

    def rope(self, x):
        x1, x2 = x[..., : self.hd // 2], x[..., self.hd // 2:]
        return x * self.cos[: x.shape[2]] + torch.cat((-x2, x1), -1) * self.sin[: x.shape[2]]

    def forward(self, x):
        b, n, d = x.shape
        q = self.rope(self.qn(self.q(x).view(b, n, self.h, -1)).transpose(1, 2))
        k = self.rope(self.kn(self.k(x).view(b, n, self.kv, -1)).transpose(1, 2))
        v = self.v(x).view(b, n, self.kv, -1).transpose(1, 2)
        i = torch.arange(n)
        m = (i[:, None] >= i) & (i[:, None] - i < self.window)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=m, enable_gqa=True)
        kk, vv = k.repeat_interleave(self.h // self.kv, 1), v.repeat_interleave(self.h // self.kv, 1)
        s = 30.0 * torch.tanh((q @ kk.transpose(2, 3)) * self.hd ** -.5 / 30.0)
        s = s.masked_fill(~m, torch.finfo(s.dtype).min)
        z = F.softmax(s, dim=-1, dtype=torch.float32).to(q.dtype) @ vv
        return self.o((y + z).transpose(1, 2).reshape(b, n, d))


def get_inputs():
    return [torch.randn(4, 512, 1024).half()]


def get_init_inputs():
    return []
