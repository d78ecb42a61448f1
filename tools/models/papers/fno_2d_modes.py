"""fno_2d_modes: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class SpectralConv2d(nn.Module):
    def __init__(self, i, o, m1, m2):
        super().__init__()
        self.o, self.m1, self.m2 = o, m1, m2
        s = 1 / (i * o)
        self.w1, self.w2 = nn.Parameter(s * torch.rand(i, o, m1, m2, dtype=torch.cfloat)), nn.Parameter(s * torch.rand(i, o, m1, m2, dtype=torch.cfloat))

    def forward(self, x):
        b = x.shape[0]
        ft = torch.fft.rfft2(x)
        out = torch.zeros(b, self.o, x.size(-2), x.size(-1) // 2 + 1, dtype=torch.cfloat, device=x.device)
        out[:, :, :self.m1, :self.m2] = torch.einsum("bixy,ioxy->boxy", ft[:, :, :self.m1, :self.m2], self.w1)
        out[:, :, -self.m1:, :self.m2] = torch.einsum("bixy,ioxy->boxy", ft[:, :, -self.m1:, :self.m2], self.w2)
        return torch.fft.irfft2(out, s=(x.size(-2), x.size(-1)))


class Model(nn.Module):
    def __init__(self, w=32, m=12):
        super().__init__()
        self.p, self.q1, self.q2 = nn.Linear(3, w), nn.Linear(w, 12), nn.Linear(12, 1)
        self.spec, self.ws = nn.ModuleList([SpectralConv2d(w, w, m, m) for _ in range(2)]), nn.ModuleList([nn.Conv2d(w, w, 1) for _ in range(2)])

    def grid(self, shape):
        b, sx, sy = shape[0], shape[1], shape[2]
        gx = torch.linspace(0, 1, sx).reshape(1, sx, 1, 1).repeat([b, 1, sy, 1])
        gy = torch.linspace(0, 1, sy).reshape(1, 1, sy, 1).repeat([b, sx, 1, 1])
        return torch.cat((gx, gy), dim=-1)

    def forward(self, x):
        x = self.p(torch.cat((x, self.grid(x.shape)), dim=-1)).permute(0, 3, 1, 2)
        x = F.pad(x, [0, 3, 0, 3])
        for s, w in zip(self.spec, self.ws):
            x = F.gelu(s(x) + w(x))
        x = x[..., :-3, :-3].permute(0, 2, 3, 1)
        return self.q2(F.gelu(self.q1(x)))


def get_inputs():
    return [torch.randn(8, 64, 64, 1)]


def get_init_inputs():
    return []
