"""segnet: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

def convs(*c):
    m = []
    for a, b in zip(c, c[1:]):
        m += [nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(True)]
    return nn.Sequential(*m)


class Model(nn.Module):
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


def get_inputs():
    return [torch.randn(2, 3, 128, 160)]

def get_init_inputs():
    return []
