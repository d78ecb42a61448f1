"""fpn_retinanet: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
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


def get_inputs():
    return [torch.randn(2, 512, 64, 64), torch.randn(2, 1024, 32, 32), torch.randn(2, 2048, 16, 16)]

def get_init_inputs():
    return []
