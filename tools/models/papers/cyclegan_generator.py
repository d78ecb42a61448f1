"""cyclegan_generator: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Res(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.b = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(d, d, 3), nn.InstanceNorm2d(d), nn.ReLU(True),
                               nn.ReflectionPad2d(1), nn.Conv2d(d, d, 3), nn.InstanceNorm2d(d))

    def forward(self, x):
        return x + self.b(x)


class Model(nn.Module):
    def __init__(self, f=64, blocks=9):
        super().__init__()
        m = [nn.ReflectionPad2d(3), nn.Conv2d(3, f, 7), nn.InstanceNorm2d(f), nn.ReLU(True)]
        for k in (1, 2):
            m += [nn.Conv2d(f * k, f * k * 2, 3, 2, 1), nn.InstanceNorm2d(f * k * 2), nn.ReLU(True)]
        m += [Res(f * 4) for _ in range(blocks)]
        for k in (4, 2):
            m += [nn.ConvTranspose2d(f * k, f * k // 2, 3, 2, 1, output_padding=1), nn.InstanceNorm2d(f * k // 2), nn.ReLU(True)]
        m += [nn.ReflectionPad2d(3), nn.Conv2d(f, 3, 7), nn.Tanh()]
        self.model = nn.Sequential(*m)

    def forward(self, x):
        return self.model(x)


def get_inputs():
    return [torch.randn(1, 3, 256, 256)]

def get_init_inputs():
    return []
