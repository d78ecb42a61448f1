"""stylegan2_block: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class ModConv(nn.Module):
    def __init__(self, i, o, k, style, demod=True, up=False):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(1, o, i, k, k))
        self.mod = nn.Linear(style, i)
        self.demod, self.up, self.o, self.i, self.k = demod, up, o, i, k
        self.scale = 1 / math.sqrt(i * k * k)

    def forward(self, x, w):
        b, i, h, wd = x.shape
        s = self.mod(w).view(b, 1, i, 1, 1) + 1
        weight = self.scale * self.weight * s
        if self.demod:
            weight = weight * torch.rsqrt(weight.pow(2).sum([2, 3, 4]) + 1e-8).view(b, self.o, 1, 1, 1)
        weight = weight.view(b * self.o, i, self.k, self.k)
        if self.up:
            x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
            h, wd = h * 2, wd * 2
        x = x.reshape(1, b * i, h, wd)
        return F.conv2d(x, weight, padding=self.k // 2, groups=b).view(b, self.o, h, wd)


class Model(nn.Module):
    def __init__(self, style=512):
        super().__init__()
        self.mapping = nn.Sequential(*[m for _ in range(8) for m in (nn.Linear(style, style), nn.LeakyReLU(0.2))])
        self.c1, self.c2 = ModConv(512, 512, 3, style, up=True), ModConv(512, 512, 3, style)
        self.rgb = ModConv(512, 3, 1, style, demod=False)
        self.b1, self.b2 = nn.Parameter(torch.zeros(1, 512, 1, 1)), nn.Parameter(torch.zeros(1, 512, 1, 1))
        self.n1, self.n2 = nn.Parameter(torch.zeros(1)), nn.Parameter(torch.zeros(1))

    def forward(self, x, z, noise):
        w = self.mapping(z * torch.rsqrt(z.square().mean(1, keepdim=True) + 1e-8))
        x = F.leaky_relu(self.c1(x, w) + self.n1 * noise + self.b1, 0.2) * math.sqrt(2)
        x = F.leaky_relu(self.c2(x, w) + self.n2 * noise + self.b2, 0.2) * math.sqrt(2)
        return x, self.rgb(x, w)


def get_inputs():
    return [torch.randn(4, 512, 16, 16), torch.randn(4, 512), torch.randn(4, 1, 32, 32)]

def get_init_inputs():
    return []
