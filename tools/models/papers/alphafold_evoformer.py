"""alphafold_evoformer: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    """Row attention with pair bias, outer product mean, triangle updates."""
    def __init__(self, m=256, z=128, h=8):
        super().__init__()
        self.h = h
        self.nm, self.nz = nn.LayerNorm(m), nn.LayerNorm(z)
        self.q, self.k, self.v, self.g, self.o = nn.Linear(m, m, bias=False), nn.Linear(m, m, bias=False), nn.Linear(m, m, bias=False), nn.Linear(m, m), nn.Linear(m, m)
        self.b = nn.Linear(z, h, bias=False)
        self.l, self.r, self.opm = nn.Linear(m, 32), nn.Linear(m, 32), nn.Linear(1024, z)
        self.ag, self.ap, self.bg, self.bp, self.tg, self.tz = (nn.Linear(z, z) for _ in range(6))
        self.tn = nn.LayerNorm(z)

    def forward(self, msa, pair, mask):
        B, S, N, M = msa.shape
        x = self.nm(msa)
        q, k, v = (f(x).view(B, S, N, self.h, -1) for f in (self.q, self.k, self.v))
        bias = self.b(self.nz(pair)).permute(0, 3, 1, 2)[:, None]
        logits = torch.einsum("bsihc,bsjhc->bshij", q / math.sqrt(q.shape[-1]), k) + bias + (1e9 * (mask - 1))[:, :, None, None, :]
        o = torch.einsum("bshij,bsjhc->bsihc", logits.softmax(-1), v) * self.g(x).sigmoid().view(B, S, N, self.h, -1)
        msa = msa + self.o(o.flatten(-2))
        a, b = self.l(msa) * mask[..., None], self.r(msa) * mask[..., None]
        outer = torch.einsum("bsic,bsjd->bijcd", a, b)
        norm = torch.einsum("bsi,bsj->bij", mask, mask)[..., None] + 1e-3
        pair = pair + self.opm(outer.flatten(-2)) / norm
        z = self.nz(pair)
        a, b = self.ag(z).sigmoid() * self.ap(z), self.bg(z).sigmoid() * self.bp(z)
        pair = pair + self.tg(z).sigmoid() * self.tz(self.tn(torch.einsum("bikc,bjkc->bijc", a, b)))
        return msa, pair


def get_inputs():
    return [torch.randn(1, 64, 64, 256), torch.randn(1, 64, 64, 128), (torch.rand(1, 64, 64) > .2).float()]


def get_init_inputs():
    return []
