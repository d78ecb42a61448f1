"""esrgan_rrdb: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Dense(nn.Module):
    def __init__(self, nf=64, gc=32):
        super().__init__()
        self.conv1 = nn.Conv2d(nf, gc, 3, 1, 1)
        self.conv2 = nn.Conv2d(nf + gc, gc, 3, 1, 1)
        self.conv3 = nn.Conv2d(nf + 2 * gc, gc, 3, 1, 1)
        self.conv4 = nn.Conv2d(nf + 3 * gc, gc, 3, 1, 1)
        self.conv5 = nn.Conv2d(nf + 4 * gc, nf, 3, 1, 1)
        self.lrelu = nn.LeakyReLU(0.2, inplace=True)

    def forward(self, x):
        x1 = self.lrelu(self.conv1(x))
        x2 = self.lrelu(self.conv2(torch.cat((x, x1), 1)))
        x3 = self.lrelu(self.conv3(torch.cat((x, x1, x2), 1)))
        x4 = self.lrelu(self.conv4(torch.cat((x, x1, x2, x3), 1)))
        x5 = self.conv5(torch.cat((x, x1, x2, x3, x4), 1))
        return x5 * 0.2 + x


class RRDB(nn.Module):
    def __init__(self, nf=64):
        super().__init__()
        self.RDB1, self.RDB2, self.RDB3 = Dense(nf), Dense(nf), Dense(nf)

    def forward(self, x):
        return self.RDB3(self.RDB2(self.RDB1(x))) * 0.2 + x


class Model(nn.Module):
    def __init__(self, nf=64, blocks=4):
        super().__init__()
        self.first = nn.Conv2d(3, nf, 3, 1, 1)
        self.trunk = nn.Sequential(*[RRDB(nf) for _ in range(blocks)])
        self.trunk_conv = nn.Conv2d(nf, nf, 3, 1, 1)
        self.up1, self.up2 = nn.Conv2d(nf, nf, 3, 1, 1), nn.Conv2d(nf, nf, 3, 1, 1)
        self.hr, self.last = nn.Conv2d(nf, nf, 3, 1, 1), nn.Conv2d(nf, 3, 3, 1, 1)

    def forward(self, x):
        fea = self.first(x)
        fea = fea + self.trunk_conv(self.trunk(fea))
        fea = F.leaky_relu(self.up1(F.interpolate(fea, scale_factor=2, mode="nearest")), 0.2)
        fea = F.leaky_relu(self.up2(F.interpolate(fea, scale_factor=2, mode="nearest")), 0.2)
        return self.last(F.leaky_relu(self.hr(fea), 0.2))


def get_inputs():
    return [torch.rand(4, 3, 64, 64)]

def get_init_inputs():
    return []
