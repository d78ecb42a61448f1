"""yolov8_head: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

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


class Model(nn.Module):
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


def get_inputs():
    return [torch.rand(8, 3, 320, 320)]

def get_init_inputs():
    return []
