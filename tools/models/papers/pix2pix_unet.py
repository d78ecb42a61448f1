"""pix2pix_unet: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Block(nn.Module):
    def __init__(self, outer, inner, sub=None, outermost=False, innermost=False, inp=None):
        super().__init__()
        self.outermost = outermost
        inp = inp or outer
        down = nn.Conv2d(inp, inner, 4, 2, 1, bias=False)
        if outermost:
            model = [down, sub, nn.ReLU(True), nn.ConvTranspose2d(inner * 2, outer, 4, 2, 1), nn.Tanh()]
        elif innermost:
            model = [nn.LeakyReLU(0.2, True), down, nn.ReLU(True), nn.ConvTranspose2d(inner, outer, 4, 2, 1, bias=False), nn.BatchNorm2d(outer)]
        else:
            model = [nn.LeakyReLU(0.2, True), down, nn.BatchNorm2d(inner), sub, nn.ReLU(True),
                     nn.ConvTranspose2d(inner * 2, outer, 4, 2, 1, bias=False), nn.BatchNorm2d(outer), nn.Dropout(0.5)]
        self.model = nn.Sequential(*model)

    def forward(self, x):
        return self.model(x) if self.outermost else torch.cat([x, self.model(x)], 1)


class Model(nn.Module):
    def __init__(self, f=64):
        super().__init__()
        b = Block(f * 8, f * 8, innermost=True)
        for _ in range(3):
            b = Block(f * 8, f * 8, b)
        b = Block(f * 4, f * 8, b)
        b = Block(f * 2, f * 4, b)
        b = Block(f, f * 2, b)
        self.model = Block(3, f, b, outermost=True, inp=3)

    def forward(self, x):
        return self.model(x)


def get_inputs():
    return [torch.randn(1, 3, 256, 256)]

def get_init_inputs():
    return []
