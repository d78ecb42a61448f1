"""edsr_pixelshuffle_fp16: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, f=64, n=8):
        super().__init__()
        self.head = nn.Conv2d(3, f, 3, padding=1)
        self.body = nn.ModuleList(nn.Sequential(nn.Conv2d(f, f, 3, padding=1), nn.ReLU(True), nn.Conv2d(f, f, 3, padding=1)) for _ in range(n))
        self.end = nn.Conv2d(f, f, 3, padding=1)
        self.up = nn.Sequential(nn.Conv2d(f, 4 * f, 3, padding=1), nn.PixelShuffle(2), nn.Conv2d(f, 4 * f, 3, padding=1), nn.PixelShuffle(2))
        self.tail = nn.Conv2d(f, 3, 3, padding=1)
        self.half()

    def forward(self, x):
        x = self.head(x)
        h = x
        for b in self.body:
            h = h + b(h).mul(0.1)
        return self.tail(self.up(x + self.end(h)))


def get_inputs():
    return [torch.rand(4, 3, 96, 96, dtype=torch.float16)]

def get_init_inputs():
    return []
