"""rwkv7: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    """RWKV-7 goose time mixing: state is transitioned by diag(w) - kk^T (a*kk)."""
    def __init__(self, d=512, n=64, rank=32):
        super().__init__()
        self.h, self.n = d // n, n
        self.x_r, self.x_w, self.x_k, self.x_v, self.x_a, self.x_g = [nn.Parameter(torch.rand(1, 1, d)) for _ in range(6)]
        self.w0, self.w1, self.w2 = nn.Parameter(torch.randn(d)), nn.Parameter(torch.randn(d, rank) * .1), nn.Parameter(torch.randn(rank, d) * .1)
        self.a0, self.a1, self.a2 = nn.Parameter(torch.randn(d)), nn.Parameter(torch.randn(d, rank) * .1), nn.Parameter(torch.randn(rank, d) * .1)
        self.g1, self.g2 = nn.Parameter(torch.randn(d, rank) * .1), nn.Parameter(torch.randn(rank, d) * .1)
        self.k_k, self.k_a, self.r_k = nn.Parameter(torch.ones(d)), nn.Parameter(torch.ones(d)), nn.Parameter(torch.randn(d // n, n) * .1)
        self.receptance, self.key, self.value, self.output = [nn.Linear(d, d, bias=False) for _ in range(4)]
        self.ln_x = nn.GroupNorm(d // n, d, eps=64e-5)

    def forward(self, x):
        B, T, C = x.shape
        H, N = self.h, self.n
        xx = F.pad(x, (0, 0, 1, -1)) - x
        xr, xw, xk, xv, xa, xg = (x + xx * m for m in (self.x_r, self.x_w, self.x_k, self.x_v, self.x_a, self.x_g))
        r = self.receptance(xr)
        w = -F.softplus(-(self.w0 + torch.tanh(xw @ self.w1) @ self.w2)) - 0.5
        k, v = self.key(xk), self.value(xv)
        a = torch.sigmoid(self.a0 + (xa @ self.a1) @ self.a2)
        g = torch.sigmoid(xg @ self.g1) @ self.g2
        kk = F.normalize((k * self.k_k).view(B, T, H, -1), dim=-1, p=2.0).view(B, T, C)
        k = k * (1 + (a - 1) * self.k_a)
        r_, w_, k_, v_, a_, b_ = [t.view(B, T, H, N) for t in (r, torch.exp(-torch.exp(w)), k, v, -kk, kk * a)]
        S = torch.zeros(B, H, N, N, device=x.device)
        ys = []
        for t in range(T):
            vk = v_[:, t].unsqueeze(-1) @ k_[:, t].unsqueeze(-2)
            ab = a_[:, t].unsqueeze(-1) @ b_[:, t].unsqueeze(-2)
            S = S * w_[:, t, :, None, :] + S @ ab + vk
            ys.append((S @ r_[:, t].unsqueeze(-1)).view(B, H * N))
        y = self.ln_x(torch.stack(ys, 1).view(B * T, C)).view(B, T, C)
        y = y + ((r.view(B, T, H, -1) * k.view(B, T, H, -1) * self.r_k).sum(dim=-1, keepdim=True) * v.view(B, T, H, -1)).view(B, T, C)
        return self.output(y * g)


def get_inputs():
    return [torch.randn(4, 32, 512)]


def get_init_inputs():
    return []
