"""swin_unet_block: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class WindowAttention(nn.Module):
    def __init__(self, d, w, h):
        super().__init__()
        self.h, self.w = h, w
        self.table = nn.Parameter(torch.randn((2 * w - 1) ** 2, h) * 0.02)
        c = torch.stack(torch.meshgrid(torch.arange(w), torch.arange(w), indexing="ij")).flatten(1)
        r = (c[:, :, None] - c[:, None, :]).permute(1, 2, 0) + w - 1
        self.register_buffer("index", r[..., 0] * (2 * w - 1) + r[..., 1])
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x, mask=None):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.h, c // self.h).permute(2, 0, 3, 1, 4)
        a = (q * (c // self.h) ** -0.5) @ k.transpose(-2, -1)
        bias = self.table[self.index.view(-1)].view(n, n, -1).permute(2, 0, 1).contiguous()
        a = a + bias.unsqueeze(0)
        if mask is not None:
            nw = mask.shape[0]
            a = (a.view(b // nw, nw, self.h, n, n) + mask.unsqueeze(1).unsqueeze(0)).view(-1, self.h, n, n)
        return self.proj((a.softmax(-1) @ v).transpose(1, 2).reshape(b, n, c))


class Block(nn.Module):
    def __init__(self, d, res, h, w=7, shift=0):
        super().__init__()
        self.n1, self.n2, self.att = nn.LayerNorm(d), nn.LayerNorm(d), WindowAttention(d, w, h)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        self.res, self.w, self.shift = res, w, shift
        mask = None
        if shift:
            img = torch.zeros(1, res, res, 1)
            cnt = 0
            for a in (slice(0, -w), slice(-w, -shift), slice(-shift, None)):
                for b in (slice(0, -w), slice(-w, -shift), slice(-shift, None)):
                    img[:, a, b] = cnt
                    cnt += 1
            m = img.view(1, res // w, w, res // w, w, 1).permute(0, 1, 3, 2, 4, 5).reshape(-1, w * w)
            m = m.unsqueeze(1) - m.unsqueeze(2)
            mask = m.masked_fill(m != 0, -100.0).masked_fill(m == 0, 0.0)
        self.register_buffer("mask", mask)

    def forward(self, x):
        b, l, c = x.shape
        r, w = self.res, self.w
        y = self.n1(x).view(b, r, r, c)
        if self.shift:
            y = torch.roll(y, (-self.shift, -self.shift), (1, 2))
        y = y.view(b, r // w, w, r // w, w, c).permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, w * w, c)
        y = self.att(y, self.mask)
        y = y.view(b, r // w, r // w, w, w, c).permute(0, 1, 3, 2, 4, 5).contiguous().view(b, r, r, c)
        if self.shift:
            y = torch.roll(y, (self.shift, self.shift), (1, 2))
        x = x + y.view(b, l, c)
        return x + self.mlp(self.n2(x))


class Model(nn.Module):
    def __init__(self, d=96, res=56):
        super().__init__()
        self.enc = nn.Sequential(Block(d, res, 3), Block(d, res, 3, shift=3))
        self.red, self.rn = nn.Linear(4 * d, 2 * d, bias=False), nn.LayerNorm(4 * d)
        self.mid = nn.Sequential(Block(2 * d, res // 2, 6), Block(2 * d, res // 2, 6, shift=3))
        self.exp, self.en = nn.Linear(2 * d, 4 * d, bias=False), nn.LayerNorm(d)
        self.cat = nn.Linear(2 * d, d)
        self.dec = nn.Sequential(Block(d, res, 3), Block(d, res, 3, shift=3))
        self.res, self.d = res, d

    def forward(self, x):
        b, l, c = x.shape
        r = self.res
        s = self.enc(x)
        y = s.view(b, r, r, c)
        y = torch.cat([y[:, 0::2, 0::2], y[:, 1::2, 0::2], y[:, 0::2, 1::2], y[:, 1::2, 1::2]], -1).view(b, -1, 4 * c)
        y = self.mid(self.red(self.rn(y)))
        y = self.exp(y).view(b, r // 2, r // 2, 2, 2, c).permute(0, 1, 3, 2, 4, 5).reshape(b, l, c)
        return self.dec(self.cat(torch.cat([self.en(y), s], -1)))


def get_inputs():
    return [torch.randn(8, 3136, 96)]

def get_init_inputs():
    return []
