"""centernet_head: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
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


def get_inputs():
    return [torch.randn(4, 512, 16, 16)]

def get_init_inputs():
    return []
