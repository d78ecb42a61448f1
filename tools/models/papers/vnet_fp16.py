"""vnet_fp16: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
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


def get_inputs():
    return [torch.randn(1, 1, 32, 64, 64, dtype=torch.float16)]

def get_init_inputs():
    return []
