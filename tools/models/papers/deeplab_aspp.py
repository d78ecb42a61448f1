"""deeplab_aspp: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
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


def get_inputs():
    return [torch.randn(2, 512, 33, 33), torch.randn(2, 256, 129, 129)]

def get_init_inputs():
    return []
