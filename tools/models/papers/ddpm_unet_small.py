"""ddpm_unet_small: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

def timestep(t, d):
    f = torch.exp(-math.log(10000) * torch.arange(d // 2, device=t.device).float() / (d // 2))
    a = t[:, None].float() * f[None]
    return torch.cat([a.cos(), a.sin()], -1)


class Res(nn.Module):
    def __init__(self, a, b, e):
        super().__init__()
        self.n1, self.c1 = nn.GroupNorm(32, a), nn.Conv2d(a, b, 3, padding=1)
        self.emb = nn.Linear(e, 2 * b)
        self.n2, self.c2 = nn.GroupNorm(32, b), nn.Conv2d(b, b, 3, padding=1)
        self.skip = nn.Conv2d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x, e):
        h = self.c1(F.silu(self.n1(x)))
        s, t = self.emb(F.silu(e))[:, :, None, None].chunk(2, 1)
        h = self.n2(h) * (1 + s) + t
        return self.skip(x) + self.c2(F.silu(h))


class Attn(nn.Module):
    def __init__(self, c, h=4):
        super().__init__()
        self.n, self.qkv, self.o, self.h = nn.GroupNorm(32, c), nn.Conv1d(c, 3 * c, 1), nn.Conv1d(c, c, 1), h

    def forward(self, x):
        b, c, hh, ww = x.shape
        y = x.reshape(b, c, -1)
        q, k, v = self.qkv(self.n(y)).reshape(b * self.h, -1, hh * ww).split(c // self.h, 1)
        s = 1 / math.sqrt(math.sqrt(c // self.h))
        w = torch.einsum("bct,bcs->bts", q * s, k * s).float().softmax(-1).type(x.dtype)
        a = torch.einsum("bts,bcs->bct", w, v).reshape(b, c, -1)
        return (y + self.o(a)).reshape(b, c, hh, ww)


class Model(nn.Module):
    def __init__(self, c=128):
        super().__init__()
        e = 4 * c
        self.time = nn.Sequential(nn.Linear(c, e), nn.SiLU(), nn.Linear(e, e))
        self.i = nn.Conv2d(3, c, 3, padding=1)
        self.r1, self.d1 = Res(c, c, e), nn.Conv2d(c, c, 3, 2, 1)
        self.r2, self.a2, self.d2 = Res(c, 2 * c, e), Attn(2 * c), nn.Conv2d(2 * c, 2 * c, 3, 2, 1)
        self.m1, self.ma, self.m2 = Res(2 * c, 2 * c, e), Attn(2 * c), Res(2 * c, 2 * c, e)
        self.u2, self.b2, self.c2 = nn.Conv2d(2 * c, 2 * c, 3, padding=1), Res(4 * c, 2 * c, e), Attn(2 * c)
        self.u1, self.b1 = nn.Conv2d(2 * c, 2 * c, 3, padding=1), Res(3 * c, c, e)
        self.on, self.o = nn.GroupNorm(32, c), nn.Conv2d(c, 3, 3, padding=1)
        self.c = c

    def forward(self, x, t):
        e = self.time(timestep(t, self.c))
        h1 = self.r1(self.i(x), e)
        h2 = self.a2(self.r2(self.d1(h1), e))
        m = self.m2(self.ma(self.m1(self.d2(h2), e)), e)
        y = self.u2(F.interpolate(m, scale_factor=2))
        y = self.c2(self.b2(torch.cat([y, h2], 1), e))
        y = self.u1(F.interpolate(y, scale_factor=2))
        y = self.b1(torch.cat([y, h1], 1), e)
        return self.o(F.silu(self.on(y)))


def get_inputs():
    return [torch.randn(8, 3, 32, 32), torch.randint(0, 1000, (8,))]

def get_init_inputs():
    return []
