"""deltanet_chunk: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    """DeltaNet with the WY representation: forward substitution on slices of a triangular matrix."""
    def __init__(self, d=512, h=4, chunk=16):
        super().__init__()
        self.h, self.chunk = h, chunk
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.beta = nn.Linear(d, h)
        self.conv = nn.Conv1d(3 * d, 3 * d, 4, groups=3 * d, padding=3)
        self.o = nn.Linear(d, d, bias=False)

    def forward(self, x):
        b, n, d = x.shape
        c = self.chunk
        qkv = F.silu(self.conv(self.qkv(x).mT)[..., :n].mT)
        q, k, v = (t.view(b, n // c, c, self.h, -1).permute(0, 3, 1, 2, 4) for t in qkv.chunk(3, -1))
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        beta = self.beta(x).sigmoid().view(b, n // c, c, self.h).permute(0, 3, 1, 2).unsqueeze(-1)
        v_beta, k_beta = v * beta, k * beta
        mask = torch.triu(torch.ones(c, c, dtype=torch.bool, device=x.device), diagonal=0)
        T = -(k_beta @ k.transpose(-1, -2)).masked_fill(mask, 0)
        for i in range(1, c):
            T[..., i, :i] = T[..., i, :i] + (T[..., i, :, None].clone() * T[..., :, :i].clone()).sum(-2)
        T = T + torch.eye(c, dtype=x.dtype, device=x.device)
        u, w = T @ v_beta, T @ k_beta
        S = torch.zeros(b, self.h, k.shape[-1], v.shape[-1], dtype=x.dtype)
        o = torch.zeros_like(v)
        upper = torch.triu(torch.ones(c, c, dtype=torch.bool), diagonal=1)
        for i in range(n // c):
            q_i, k_i = q[:, :, i], k[:, :, i]
            attn = (q_i @ k_i.transpose(-1, -2)).masked_fill_(upper, 0)
            u_i = u[:, :, i] - w[:, :, i] @ S
            o[:, :, i] = q_i @ S + attn @ u_i
            S = S + k_i.transpose(-1, -2) @ u_i
        return self.o(o.permute(0, 2, 3, 1, 4).reshape(b, n, d))


def get_inputs():
    return [torch.randn(4, 256, 512)]


def get_init_inputs():
    return []
