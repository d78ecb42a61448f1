"""longformer_chunks_bf16: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, d=768, h=12, w=64):
        super().__init__()
        self.h, self.w = h, w
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.to(torch.bfloat16)

    def forward(self, x):
        b, n, d = x.shape
        w, c = self.w, d // self.h
        q, k, v = (f(x).view(b, n, self.h, c).transpose(1, 2) for f in (self.q, self.k, self.v))
        k, v = (F.pad(t, (0, 0, w, w)).unfold(2, 3 * w, w).transpose(-1, -2) for t in (k, v))
        q = q.view(b, self.h, n // w, w, c) * c ** -0.5
        s = torch.einsum("bhgqc,bhgkc->bhgqk", q, k)
        i, j = torch.arange(w, device=x.device), torch.arange(3 * w, device=x.device)
        band = (j[None] >= i[:, None]) & (j[None] <= i[:, None] + 2 * w)
        g = torch.arange(n // w, device=x.device)
        inside = ((g[:, None] - 1) * w + j[None] >= 0) & ((g[:, None] - 1) * w + j[None] < n)
        s = s.masked_fill(~(band[None] & inside[:, None]), -1e4)
        a = torch.einsum("bhgqk,bhgkc->bhgqc", s.softmax(-1), v).reshape(b, self.h, n, c)
        return self.o(a.transpose(1, 2).reshape(b, n, d))


def get_inputs():
    return [torch.randn(2, 1024, 768, dtype=torch.bfloat16)]

def get_init_inputs():
    return []
