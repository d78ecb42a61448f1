"""mamba_block: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, d=256, n=16, expand=2, k=4):
        super().__init__()
        self.di, self.n, self.r = d * expand, n, d // 16
        self.in_proj = nn.Linear(d, 2 * self.di, bias=False)
        self.conv = nn.Conv1d(self.di, self.di, k, groups=self.di, padding=k - 1)
        self.x_proj = nn.Linear(self.di, self.r + 2 * n, bias=False)
        self.dt = nn.Linear(self.r, self.di)
        self.A_log = nn.Parameter(torch.log(torch.arange(1, n + 1).float()).repeat(self.di, 1))
        self.D = nn.Parameter(torch.ones(self.di))
        self.out = nn.Linear(self.di, d, bias=False)

    def forward(self, x):
        b, l, _ = x.shape
        xz, z = self.in_proj(x).chunk(2, -1)
        u = F.silu(self.conv(xz.transpose(1, 2))[..., :l].transpose(1, 2))
        dt, B, C = self.x_proj(u).split([self.r, self.n, self.n], -1)
        dt = F.softplus(self.dt(dt))
        A = -torch.exp(self.A_log)
        dA = torch.exp(dt.unsqueeze(-1) * A)
        dBu = dt.unsqueeze(-1) * B.unsqueeze(2) * u.unsqueeze(-1)
        h = torch.zeros(b, self.di, self.n, device=x.device, dtype=x.dtype)
        ys = []
        for t in range(l):
            h = dA[:, t] * h + dBu[:, t]
            ys.append((h * C[:, t].unsqueeze(1)).sum(-1))
        y = torch.stack(ys, 1) + u * self.D
        return self.out(y * F.silu(z))


def get_inputs():
    return [torch.randn(4, 64, 256)]

def get_init_inputs():
    return []
