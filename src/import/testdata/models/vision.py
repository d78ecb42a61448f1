"""In the manner of papers and their repositories, for images: segmentation, detection, matching, contrast."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class DeeplabAspp(nn.Module):
    def __init__(self, i=512, o=256):
        super().__init__()
        def branch(k, d):
            return nn.Sequential(nn.Conv2d(i, o, k, padding=0 if k == 1 else d, dilation=d, bias=False), nn.BatchNorm2d(o), nn.ReLU())
        self.b = nn.ModuleList([branch(1, 1), branch(3, 6), branch(3, 12), branch(3, 18)])
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(i, o, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU())
        self.proj = nn.Sequential(nn.Conv2d(5 * o, o, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(), nn.Dropout(0.5))
        self.low = nn.Sequential(nn.Conv2d(256, 48, 1, bias=False), nn.BatchNorm2d(48), nn.ReLU())
        self.last = nn.Sequential(nn.Conv2d(304, 256, 3, padding=1, bias=False), nn.BatchNorm2d(256), nn.ReLU(), nn.Conv2d(256, 21, 1))

    def forward(self, x, low):
        size = x.shape[-2:]
        y = [b(x) for b in self.b] + [F.interpolate(self.pool(x), size=size, mode="bilinear", align_corners=False)]
        y = self.proj(torch.cat(y, 1))
        y = F.interpolate(y, size=low.shape[-2:], mode="bilinear", align_corners=True)
        y = self.last(torch.cat([y, self.low(low)], 1))
        return F.interpolate(y, scale_factor=4, mode="bilinear", align_corners=True)


def convs(*c):
    m = []
    for a, b in zip(c, c[1:]):
        m += [nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(True)]
    return nn.Sequential(*m)


class Segnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.ModuleList([convs(3, 64, 64), convs(64, 128, 128), convs(128, 256, 256, 256), convs(256, 512, 512, 512)])
        self.d = nn.ModuleList([convs(512, 512, 512, 256), convs(256, 256, 256, 128), convs(128, 128, 64), convs(64, 64, 12)])

    def forward(self, x):
        idx, sizes = [], []
        for e in self.e:
            x = e(x)
            sizes.append(x.size())
            x, i = F.max_pool2d(x, 2, 2, return_indices=True)
            idx.append(i)
        for d, i, s in zip(self.d, reversed(idx), reversed(sizes)):
            x = d(F.max_unpool2d(x, i, 2, 2, output_size=s))
        return x


class FpnRetinanet(nn.Module):
    def __init__(self, classes=80, a=9):
        super().__init__()
        self.lat = nn.ModuleList(nn.Conv2d(c, 256, 1) for c in (512, 1024, 2048))
        self.out = nn.ModuleList(nn.Conv2d(256, 256, 3, padding=1) for _ in range(3))
        self.p6, self.p7 = nn.Conv2d(2048, 256, 3, 2, 1), nn.Conv2d(256, 256, 3, 2, 1)
        def tower(o):
            m = []
            for _ in range(4):
                m += [nn.Conv2d(256, 256, 3, padding=1), nn.ReLU()]
            return nn.Sequential(*m, nn.Conv2d(256, o, 3, padding=1))
        self.cls, self.reg = tower(a * classes), tower(a * 4)
        self.a, self.classes = a, classes
        self.register_buffer("anchors", torch.rand(a, 4) * 64)

    def forward(self, c3, c4, c5):
        p5 = self.lat[2](c5)
        p4 = self.lat[1](c4) + F.interpolate(p5, size=c4.shape[-2:], mode="nearest")
        p3 = self.lat[0](c3) + F.interpolate(p4, size=c3.shape[-2:], mode="nearest")
        p = [self.out[0](p3), self.out[1](p4), self.out[2](p5)]
        p6 = self.p6(c5)
        p += [p6, self.p7(F.relu(p6))]
        scores, boxes = [], []
        for level, x in enumerate(p):
            b, _, h, w = x.shape
            scores.append(self.cls(x).view(b, self.a, self.classes, h, w).permute(0, 3, 4, 1, 2).reshape(b, -1, self.classes))
            d = self.reg(x).view(b, self.a, 4, h, w).permute(0, 3, 4, 1, 2).reshape(b, -1, 4)
            stride = 8 * 2 ** level
            sx, sy = torch.arange(w, device=x.device) * stride, torch.arange(h, device=x.device) * stride
            yy, xx = torch.meshgrid(sy, sx, indexing="ij")
            shift = torch.stack([xx.reshape(-1), yy.reshape(-1), xx.reshape(-1), yy.reshape(-1)], 1)
            anchors = (self.anchors[None] + shift[:, None].to(x.dtype)).reshape(-1, 4)
            wh, ctr = anchors[:, 2:] - anchors[:, :2], (anchors[:, 2:] + anchors[:, :2]) * 0.5
            c = d[..., :2] * wh + ctr
            s = torch.exp(d[..., 2:].clamp(max=4.135)) * wh
            boxes.append(torch.cat([c - 0.5 * s, c + 0.5 * s], -1).clamp(0, 512))
        return torch.cat(scores, 1).sigmoid(), torch.cat(boxes, 1)


class CenternetHead(nn.Module):
    def __init__(self, classes=80):
        super().__init__()
        m, c = [], 512
        for o in (256, 128, 64):
            m += [nn.Conv2d(c, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(),
                  nn.ConvTranspose2d(o, o, 4, 2, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU()]
            c = o
        self.up = nn.Sequential(*m)
        def head(o):
            return nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(True), nn.Conv2d(64, o, 1))
        self.hm, self.wh, self.off = head(classes), head(2), head(2)

    def forward(self, x):
        x = self.up(x)
        hm = torch.sigmoid(self.hm(x))
        wh, off = self.wh(x), self.off(x)
        keep = (F.max_pool2d(hm, 3, 1, 1) == hm).to(hm.dtype)
        heat = hm * keep
        b, c, h, w = heat.shape
        scores, inds = torch.topk(heat.view(b, c, -1), 100)
        ys, xs = (inds // w).float(), (inds % w).float()
        score, ind = torch.topk(scores.view(b, -1), 100)
        clses = (ind // 100).int()
        def gather(f):
            return f.view(b, -1).gather(1, ind)
        inds, ys, xs = gather(inds), gather(ys), gather(xs)
        def at(f):
            f = f.permute(0, 2, 3, 1).reshape(b, -1, 2)
            return f.gather(1, inds.unsqueeze(2).expand(b, 100, 2))
        o, s = at(off), at(wh)
        xs, ys = xs.unsqueeze(2) + o[..., :1], ys.unsqueeze(2) + o[..., 1:]
        boxes = torch.cat([xs - s[..., :1] / 2, ys - s[..., 1:] / 2, xs + s[..., :1] / 2, ys + s[..., 1:] / 2], 2)
        return boxes, score, clses


class Conv(nn.Module):
    def __init__(self, a, b, k=1, s=1):
        super().__init__()
        self.c, self.b = nn.Conv2d(a, b, k, s, k // 2, bias=False), nn.BatchNorm2d(b, eps=1e-3)

    def forward(self, x):
        return F.silu(self.b(self.c(x)))


class C2f(nn.Module):
    def __init__(self, a, b, n=1):
        super().__init__()
        self.c = b // 2
        self.cv1, self.cv2 = Conv(a, 2 * self.c), Conv((2 + n) * self.c, b)
        self.m = nn.ModuleList(nn.Sequential(Conv(self.c, self.c, 3), Conv(self.c, self.c, 3)) for _ in range(n))

    def forward(self, x):
        y = list(self.cv1(x).chunk(2, 1))
        for m in self.m:
            y.append(y[-1] + m(y[-1]))
        return self.cv2(torch.cat(y, 1))


class SPPF(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.cv1, self.cv2, self.m = Conv(a, a // 2), Conv(a * 2, b), nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        x = self.cv1(x)
        y1 = self.m(x)
        y2 = self.m(y1)
        return self.cv2(torch.cat((x, y1, y2, self.m(y2)), 1))


class Yolov8Head(nn.Module):
    def __init__(self, nc=80, reg=16):
        super().__init__()
        self.s = nn.Sequential(Conv(3, 16, 3, 2), Conv(16, 32, 3, 2), C2f(32, 32), Conv(32, 64, 3, 2), C2f(64, 64, 2))
        self.d1, self.d2 = nn.Sequential(Conv(64, 128, 3, 2), C2f(128, 128, 2)), nn.Sequential(Conv(128, 256, 3, 2), C2f(256, 256), SPPF(256, 256))
        self.u1, self.u2 = C2f(384, 128), C2f(192, 64)
        self.n1, self.n2 = Conv(64, 64, 3, 2), Conv(128, 128, 3, 2)
        self.m1, self.m2 = C2f(192, 128), C2f(384, 256)
        ch = (64, 128, 256)
        self.box = nn.ModuleList(nn.Sequential(Conv(c, 64, 3), Conv(64, 64, 3), nn.Conv2d(64, 4 * reg, 1)) for c in ch)
        self.cls = nn.ModuleList(nn.Sequential(Conv(c, nc, 3), Conv(nc, nc, 3), nn.Conv2d(nc, nc, 1)) for c in ch)
        self.reg, self.nc = reg, nc
        self.register_buffer("proj", torch.arange(reg).float())

    def forward(self, x):
        p3 = self.s(x)
        p4 = self.d1(p3)
        p5 = self.d2(p4)
        h4 = self.u1(torch.cat([F.interpolate(p5, scale_factor=2.0, mode="nearest"), p4], 1))
        h3 = self.u2(torch.cat([F.interpolate(h4, scale_factor=2.0, mode="nearest"), p3], 1))
        h4 = self.m1(torch.cat([self.n1(h3), h4], 1))
        h5 = self.m2(torch.cat([self.n2(h4), p5], 1))
        outs, anchors, strides = [], [], []
        for i, (f, s) in enumerate(((h3, 8), (h4, 16), (h5, 32))):
            b, _, h, w = f.shape
            outs.append(torch.cat([self.box[i](f), self.cls[i](f)], 1).view(b, self.nc + 4 * self.reg, -1))
            sx = torch.arange(w, device=x.device, dtype=x.dtype) + 0.5
            sy = torch.arange(h, device=x.device, dtype=x.dtype) + 0.5
            gy, gx = torch.meshgrid(sy, sx, indexing="ij")
            anchors.append(torch.stack((gx, gy), -1).view(-1, 2))
            strides.append(torch.full((h * w, 1), float(s), device=x.device, dtype=x.dtype))
        o = torch.cat(outs, 2)
        a, st = torch.cat(anchors).t(), torch.cat(strides).t()
        box, cls = o.split((4 * self.reg, self.nc), 1)
        b, _, n = box.shape
        d = (box.view(b, 4, self.reg, n).softmax(2) * self.proj.view(1, 1, -1, 1)).sum(2)
        lt, rb = d.chunk(2, 1)
        x1, x2 = a.unsqueeze(0) - lt, a.unsqueeze(0) + rb
        return torch.cat([(x1 + x2) / 2 * st, (x2 - x1) * st, cls.sigmoid()], 1)


class DetrSmall(nn.Module):
    def __init__(self, d=256, classes=91):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 4, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 256, 3, 4, 1), nn.BatchNorm2d(256), nn.ReLU(),
                                  nn.Conv2d(256, 512, 3, 2, 1), nn.BatchNorm2d(512), nn.ReLU())
        self.conv = nn.Conv2d(512, d, 1)
        self.transformer = nn.Transformer(d, 8, 3, 3, 1024)
        self.cls, self.box = nn.Linear(d, classes + 1), nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 4))
        self.query = nn.Parameter(torch.rand(100, d))
        self.row, self.col = nn.Parameter(torch.rand(50, d // 2)), nn.Parameter(torch.rand(50, d // 2))

    def forward(self, x):
        h = self.conv(self.stem(x))
        H, W = h.shape[-2:]
        pos = torch.cat([self.col[:W].unsqueeze(0).repeat(H, 1, 1), self.row[:H].unsqueeze(1).repeat(1, W, 1)], -1).flatten(0, 1).unsqueeze(1)
        src = pos + 0.1 * h.flatten(2).permute(2, 0, 1)
        h = self.transformer(src, self.query.unsqueeze(1).expand(-1, x.shape[0], -1)).transpose(0, 1)
        return self.cls(h), self.box(h).sigmoid()


class DeformableDetrSampling(nn.Module):
    def __init__(self, d=256, h=8, p=4):
        super().__init__()
        self.h, self.p = h, p
        self.off, self.att = nn.Linear(d, h * 2 * p * 2), nn.Linear(d, h * 2 * p)
        self.val, self.o = nn.Linear(d, d), nn.Linear(d, d)
        self.shapes = ((32, 32), (16, 16))

    def forward(self, q, ref, src):
        b, n, d = q.shape
        v = self.val(src).view(b, -1, self.h, d // self.h)
        off = self.off(q).view(b, n, self.h, 2, self.p, 2)
        w = self.att(q).view(b, n, self.h, 2 * self.p).softmax(-1)
        norm = torch.tensor([[32.0, 32.0], [16.0, 16.0]], device=q.device)
        loc = ref[:, :, None, :, None] + off / norm[None, None, None, :, None]
        grids = 2 * loc - 1
        outs = []
        for l, part in enumerate(v.split([hh * ww for hh, ww in self.shapes], 1)):
            hh, ww = self.shapes[l]
            part = part.flatten(2).transpose(1, 2).reshape(b * self.h, d // self.h, hh, ww)
            g = grids[:, :, :, l].transpose(1, 2).flatten(0, 1)
            outs.append(F.grid_sample(part, g, mode="bilinear", padding_mode="zeros", align_corners=False))
        w = w.transpose(1, 2).reshape(b * self.h, 1, n, 2 * self.p)
        y = (torch.stack(outs, -2).flatten(-2) * w).sum(-1).view(b, d, n)
        return self.o(y.transpose(1, 2))


class RaftCorrLookup(nn.Module):
    def __init__(self, d=128, radius=4):
        super().__init__()
        self.r = radius
        self.enc = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3), nn.InstanceNorm2d(64), nn.ReLU(), nn.Conv2d(64, 96, 3, 2, 1), nn.InstanceNorm2d(96), nn.ReLU(),
                                 nn.Conv2d(96, d, 3, 2, 1))
        self.mot = nn.Sequential(nn.Conv2d(81, 96, 1), nn.ReLU(), nn.Conv2d(96, 64, 3, padding=1), nn.ReLU())
        self.z, self.q = nn.Conv2d(64 + d, d, (1, 5), padding=(0, 2)), nn.Conv2d(64 + d, d, (1, 5), padding=(0, 2))
        self.flow = nn.Sequential(nn.Conv2d(d, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 2, 3, padding=1))

    def forward(self, a, b):
        f1, f2 = self.enc(a), self.enc(b)
        n, d, h, w = f1.shape
        corr = (f1.flatten(2).transpose(1, 2) @ f2.flatten(2)).view(n * h * w, 1, h, w) / math.sqrt(d)
        ys, xs = torch.meshgrid(torch.arange(h, device=a.device), torch.arange(w, device=a.device), indexing="ij")
        base = torch.stack([xs, ys]).float()[None].repeat(n, 1, 1, 1)
        flow = torch.zeros_like(base)
        net = torch.tanh(f1)
        o = torch.linspace(-self.r, self.r, 2 * self.r + 1, device=a.device)
        delta = torch.stack(torch.meshgrid(o, o, indexing="ij"), -1).view(1, 9, 9, 2)
        for _ in range(3):
            c = (base + flow).permute(0, 2, 3, 1).reshape(n * h * w, 1, 1, 2) + delta
            gx, gy = c.split([1, 1], -1)
            grid = torch.cat([2 * gx / (w - 1) - 1, 2 * gy / (h - 1) - 1], -1)
            look = F.grid_sample(corr, grid, align_corners=True).view(n, h, w, -1).permute(0, 3, 1, 2)
            m = self.mot(look)
            hx = torch.cat([net, m], 1)
            z = torch.sigmoid(self.z(hx))
            net = (1 - z) * net + z * torch.tanh(self.q(hx))
            flow = flow + self.flow(net)
        return flow


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


class SamMaskDecoder(nn.Module):
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


class SwinUnetBlock(nn.Module):
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


def double(a, b):
    return nn.Sequential(nn.Conv3d(a, b, 3, padding=1), nn.GroupNorm(8, b), nn.ReLU(True), nn.Conv3d(b, b, 3, padding=1), nn.GroupNorm(8, b), nn.ReLU(True))


class Unet3d(nn.Module):
    def __init__(self, f=32):
        super().__init__()
        self.e1, self.e2, self.e3 = double(1, f) if False else double(8, f), double(f, 2 * f), double(2 * f, 4 * f)
        self.stem = nn.Conv3d(1, 8, 1)
        self.d2, self.d1, self.out = double(6 * f, 2 * f), double(3 * f, f), nn.Conv3d(f, 3, 1)

    def forward(self, x):
        a = self.e1(self.stem(x))
        b = self.e2(F.max_pool3d(a, 2))
        c = self.e3(F.max_pool3d(b, 2))
        y = self.d2(torch.cat([F.interpolate(c, scale_factor=2, mode="trilinear", align_corners=False), b], 1))
        y = self.d1(torch.cat([F.interpolate(y, scale_factor=2, mode="trilinear", align_corners=False), a], 1))
        return torch.softmax(self.out(y), 1)


class VnetFp16(nn.Module):
    def __init__(self, f=16):
        super().__init__()
        self.i = nn.Conv3d(1, f, 5, padding=2)
        self.d1, self.c1 = nn.Conv3d(f, 2 * f, 2, 2), nn.ModuleList(nn.Conv3d(2 * f, 2 * f, 5, padding=2) for _ in range(2))
        self.d2, self.c2 = nn.Conv3d(2 * f, 4 * f, 2, 2), nn.ModuleList(nn.Conv3d(4 * f, 4 * f, 5, padding=2) for _ in range(2))
        self.u1, self.e1 = nn.ConvTranspose3d(4 * f, 2 * f, 2, 2), nn.ModuleList([nn.Conv3d(4 * f, 4 * f, 5, padding=2)])
        self.u2, self.e2 = nn.ConvTranspose3d(4 * f, f, 2, 2), nn.ModuleList([nn.Conv3d(2 * f, 2 * f, 5, padding=2)])
        self.bns = nn.ModuleList(nn.BatchNorm3d(c) for c in (f, 2 * f, 2 * f, 2 * f, 4 * f, 4 * f, 4 * f, 4 * f, 2 * f))
        self.prelu = nn.ModuleList(nn.PReLU(c) for c in (f, 2 * f, 4 * f, 4 * f, 2 * f))
        self.out = nn.Conv3d(2 * f, 2, 1)
        self.half()

    def forward(self, x):
        b = iter(self.bns)
        x0 = self.prelu[0](next(b)(self.i(x)) + x.repeat(1, 16, 1, 1, 1))
        def stage(x, convs, p):
            y = x
            for c in convs:
                y = next(b)(c(y))
            return p(x + y)
        x1 = stage(F.relu(next(b)(self.d1(x0))), self.c1, self.prelu[1])
        x2 = stage(F.relu(next(b)(self.d2(x1))), self.c2, self.prelu[2])
        y = stage(torch.cat([F.relu(self.u1(x2)), x1], 1), self.e1, self.prelu[3])
        y = stage(torch.cat([F.relu(self.u2(y)), x0], 1), self.e2, self.prelu[4])
        return F.log_softmax(self.out(y), 1)


class VitTinyBf16Mha(nn.Module):
    def __init__(self, d=192, layers=6):
        super().__init__()
        self.patch = nn.Conv2d(3, d, 16, 16)
        self.cls, self.pos = nn.Parameter(torch.zeros(1, 1, d)), nn.Parameter(torch.randn(1, 197, d) * 0.02)
        layer = nn.TransformerEncoderLayer(d, 3, 4 * d, 0.0, "gelu", batch_first=True, norm_first=True)
        self.enc, self.norm, self.head = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False), nn.LayerNorm(d), nn.Linear(d, 1000)
        self.to(torch.bfloat16)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.pos
        return self.head(self.norm(self.enc(x))[:, 0])


class NTXent(nn.Module):
    def __init__(self, batch_size, temperature):
        super().__init__()
        self.batch_size, self.temperature = batch_size, temperature
        self.mask = self.mask_correlated_samples(batch_size)
        self.criterion = nn.CrossEntropyLoss(reduction="sum")
        self.similarity_f = nn.CosineSimilarity(dim=2)

    def mask_correlated_samples(self, batch_size):
        N = 2 * batch_size
        mask = torch.ones((N, N), dtype=bool)
        mask = mask.fill_diagonal_(0)
        for i in range(batch_size):
            mask[i, batch_size + i] = 0
            mask[batch_size + i, i] = 0
        return mask

    def forward(self, z_i, z_j):
        N = 2 * self.batch_size
        z = torch.cat((z_i, z_j), dim=0)
        sim = self.similarity_f(z.unsqueeze(1), z.unsqueeze(0)) / self.temperature
        sim_i_j = torch.diag(sim, self.batch_size)
        sim_j_i = torch.diag(sim, -self.batch_size)
        positive = torch.cat((sim_i_j, sim_j_i), dim=0).reshape(N, 1)
        negative = sim[self.mask].reshape(N, -1)
        labels = torch.zeros(N).to(positive.device).long()
        logits = torch.cat((positive, negative), dim=1)
        return self.criterion(logits, labels) / N


class SimclrLossModule(nn.Module):
    def __init__(self, b=128):
        super().__init__()
        self.net, self.loss = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 8)), NTXent(b, 0.5)

    def forward(self, a, b):
        za, zb = self.net(a), self.net(b)
        z = F.normalize(torch.cat([za, zb]), dim=1)
        s = z @ z.T
        n = s.shape[0]
        m = torch.eye(n, dtype=torch.bool)
        labels = torch.cat([torch.arange(n // 2) for _ in range(2)])
        labels = (labels.unsqueeze(0) == labels.unsqueeze(1)).float()
        labels = labels[~m].view(n, -1)
        s = s[~m].view(n, -1)
        pos = s[labels.bool()].view(n, -1)
        neg = s[~labels.bool()].view(n, -1)
        mine = torch.ones(n, n, dtype=torch.bool)
        mine.fill_diagonal_(False)
        mine[0, 1] = False
        return self.loss(za, zb), F.cross_entropy(torch.cat([pos, neg], 1) / 0.07, torch.zeros(n, dtype=torch.long)), torch.masked_select(z @ z.T, mine).sum()


class CrnnCtc(nn.Module):
    def __init__(self, nc=37, h=256):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 8, 3, 1, 1), nn.ReLU(True), nn.MaxPool2d(2, 2), nn.Conv2d(8, 16, 3, 1, 1), nn.BatchNorm2d(16), nn.ReLU(True),
            nn.MaxPool2d((2, 2), (2, 1), (0, 1)), nn.Conv2d(16, 16, 2), nn.ReLU(True), nn.AdaptiveAvgPool2d((1, None)))
        self.rnn = nn.LSTM(16, h, 2, bidirectional=True, dropout=0.1)
        self.fc = nn.Linear(2 * h, nc)

    def forward(self, x, targets, target_lengths):
        f = self.cnn(x).squeeze(2).permute(2, 0, 1)
        y, _ = self.rnn(f)
        logp = self.fc(y).log_softmax(2)
        lengths = torch.full((x.shape[0],), logp.shape[0], dtype=torch.long)
        loss = F.ctc_loss(logp, targets, lengths, target_lengths, blank=0, zero_infinity=True)
        return logp, loss


# Name, what builds it, what it is called with, and in which half precision people run it, too.
MODELS = [
    ("deeplab_aspp", "DeeplabAspp()", ["torch.randn(2, 512, 33, 33)", "torch.randn(2, 256, 129, 129)"]),
    ("segnet", "Segnet()", ["torch.randn(2, 3, 128, 160)"]),
    ("fpn_retinanet", "FpnRetinanet()", ["torch.randn(2, 512, 64, 64)", "torch.randn(2, 1024, 32, 32)", "torch.randn(2, 2048, 16, 16)"]),
    ("centernet_head", "CenternetHead()", ["torch.randn(4, 512, 16, 16)"]),
    ("yolov8_head", "Yolov8Head()", ["torch.rand(8, 3, 320, 320)"]),
    ("detr_small", "DetrSmall()", ["torch.randn(2, 3, 512, 512)"]),
    ("deformable_detr_sampling", "DeformableDetrSampling()",
        ["torch.randn(2, 300, 256)", "torch.rand(2, 300, 2, 2)", "torch.randn(2, 1280, 256)"]),
    ("raft_corr_lookup", "RaftCorrLookup()", ["torch.randn(1, 3, 256, 320)", "torch.randn(1, 3, 256, 320)"]),
    ("sam_mask_decoder", "SamMaskDecoder()",
        ["torch.randn(1, 256, 64, 64)", "torch.randn(1, 256, 64, 64)", "torch.randn(8, 2, 256)", "torch.randn(8, 256, 64, 64)"]),
    ("swin_unet_block", "SwinUnetBlock()", ["torch.randn(8, 3136, 96)"]),
    ("unet3d", "Unet3d()", ["torch.randn(1, 1, 64, 64, 64)"]),
    ("vnet_fp16", "VnetFp16()", ["torch.randn(1, 1, 32, 64, 64, dtype=torch.float16)"]),
    ("vit_tiny_bf16_mha", "VitTinyBf16Mha()", ["torch.randn(32, 3, 224, 224, dtype=torch.bfloat16)"]),
    ("simclr_loss_module", "SimclrLossModule()", ["torch.randn(128, 12)", "torch.randn(128, 12)"]),
    ("crnn_ctc", "CrnnCtc()", ["torch.randn(16, 1, 32, 100)", "torch.randint(1, 37, (16, 12))", "torch.randint(1, 13, (16,))"]),
]
