"""sam_mask_decoder: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Norm2d(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(c)), nn.Parameter(torch.zeros(c))

    def forward(self, x):
        u = x.mean(1, keepdim=True)
        s = (x - u).pow(2).mean(1, keepdim=True)
        x = (x - u) / torch.sqrt(s + 1e-6)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


class Attn(nn.Module):
    def __init__(self, d, h, down=1):
        super().__init__()
        self.h, i = h, d // down
        self.q, self.k, self.v, self.o = nn.Linear(d, i), nn.Linear(d, i), nn.Linear(d, i), nn.Linear(i, d)

    def forward(self, q, k, v):
        q, k, v = self.q(q), self.k(k), self.v(v)
        b = q.shape[0]
        q, k, v = (t.reshape(b, t.shape[1], self.h, -1).transpose(1, 2) for t in (q, k, v))
        a = torch.softmax(q @ k.permute(0, 1, 3, 2) / math.sqrt(q.shape[-1]), -1)
        return self.o((a @ v).transpose(1, 2).reshape(b, -1, v.shape[-1] * self.h))


class TwoWay(nn.Module):
    def __init__(self, d=256, h=8, skip=False):
        super().__init__()
        self.sa, self.t2i, self.i2t = Attn(d, h), Attn(d, h, 2), Attn(d, h, 2)
        self.n1, self.n2, self.n3, self.n4 = (nn.LayerNorm(d) for _ in range(4))
        self.mlp = nn.Sequential(nn.Linear(d, 2048), nn.ReLU(), nn.Linear(2048, d))
        self.skip = skip

    def forward(self, q, k, qpe, kpe):
        q = self.sa(q, q, q) if self.skip else q + self.sa(q + qpe, q + qpe, q)
        q = self.n1(q)
        q = self.n2(q + self.t2i(q + qpe, k + kpe, k))
        q = self.n3(q + self.mlp(q))
        return q, self.n4(k + self.i2t(k + kpe, q + qpe, q))


class Model(nn.Module):
    def __init__(self, d=256):
        super().__init__()
        self.layers = nn.ModuleList([TwoWay(d, skip=True), TwoWay(d)])
        self.final, self.norm = Attn(d, 8, 2), nn.LayerNorm(d)
        self.tokens = nn.Embedding(5, d)
        self.up = nn.Sequential(nn.ConvTranspose2d(d, d // 4, 2, 2), Norm2d(d // 4), nn.GELU(), nn.ConvTranspose2d(d // 4, d // 8, 2, 2), nn.GELU())
        self.hyper = nn.ModuleList(nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d // 8)) for _ in range(4))
        self.iou = nn.Sequential(nn.Linear(d, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 4))

    def forward(self, img, pe, prompt, dense):
        b = prompt.shape[0]
        tokens = torch.cat((self.tokens.weight.unsqueeze(0).expand(b, -1, -1), prompt), 1)
        src = torch.repeat_interleave(img, b, dim=0) + dense
        pos = torch.repeat_interleave(pe, b, dim=0)
        _, c, h, w = src.shape
        k, kpe, q = src.flatten(2).permute(0, 2, 1), pos.flatten(2).permute(0, 2, 1), tokens
        for l in self.layers:
            q, k = l(q, k, tokens, kpe)
        q = self.norm(q + self.final(q + tokens, k + kpe, k))
        up = self.up(k.transpose(1, 2).view(b, c, h, w))
        hy = torch.stack([m(q[:, i + 1]) for i, m in enumerate(self.hyper)], 1)
        bb, cc, hh, ww = up.shape
        return (hy @ up.view(bb, cc, hh * ww)).view(bb, -1, hh, ww), self.iou(q[:, 0])


def get_inputs():
    return [torch.randn(1, 256, 64, 64), torch.randn(1, 256, 64, 64), torch.randn(8, 2, 256), torch.randn(8, 256, 64, 64)]

def get_init_inputs():
    return []
