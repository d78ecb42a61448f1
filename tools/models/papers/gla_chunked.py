"""gla_chunked: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    """Gated linear attention in chunks."""
    def __init__(self, d=512, heads=4, chunk=64):
        super().__init__()
        self.heads, self.chunk = heads, chunk
        self.q_proj, self.k_proj = nn.Linear(d, d // 2, bias=False), nn.Linear(d, d // 2, bias=False)
        self.v_proj, self.g_proj = nn.Linear(d, d, bias=False), nn.Linear(d, d)
        self.gk_proj = nn.Sequential(nn.Linear(d, 8, bias=False), nn.Linear(8, d // 2))
        self.norm = nn.RMSNorm(d // heads, eps=1e-5)
        self.o_proj = nn.Linear(d, d, bias=False)

    def forward(self, x):
        b, n, d = x.shape
        h, c = self.heads, self.chunk
        split = lambda t: t.view(b, n // c, c, h, -1).permute(0, 3, 1, 2, 4)
        q, k, v = split(self.q_proj(x)), split(self.k_proj(x)), split(self.v_proj(x))
        gk = split(F.logsigmoid(self.gk_proj(x)) / 16)
        g_cum = gk.cumsum(-2)
        q = q * (q.shape[-1] ** -0.5) * g_cum.exp()
        k_in = k * (-g_cum).exp()
        last = g_cum[..., -1:, :]
        k_out = k * (last - g_cum).exp()
        attn = (q @ k_in.transpose(-1, -2)).tril()
        o = attn @ v
        S = torch.zeros(b, h, q.shape[-1], v.shape[-1], dtype=x.dtype)
        inter = []
        for i in range(n // c):
            inter.append(q[:, :, i] @ S)
            S = S * last[:, :, i].squeeze(-2).exp().unsqueeze(-1) + k_out[:, :, i].transpose(-1, -2) @ v[:, :, i]
        o = o + torch.stack(inter, dim=2)
        o = o.permute(0, 2, 3, 1, 4).reshape(b, n, h, -1)
        return self.o_proj(self.norm(o).flatten(-2) * F.silu(self.g_proj(x))), S


def get_inputs():
    return [torch.randn(4, 512, 512)]


def get_init_inputs():
    return []
