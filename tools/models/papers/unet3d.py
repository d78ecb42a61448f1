"""unet3d: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

def double(a, b):
    return nn.Sequential(nn.Conv3d(a, b, 3, padding=1), nn.GroupNorm(8, b), nn.ReLU(True), nn.Conv3d(b, b, 3, padding=1), nn.GroupNorm(8, b), nn.ReLU(True))


class Model(nn.Module):
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


def get_inputs():
    return [torch.randn(1, 1, 64, 64, 64)]

def get_init_inputs():
    return []
