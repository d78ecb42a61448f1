"""ConvNeXt blocks: a 7x7 depthwise convolution, then a layer norm and two linear layers with channels last."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, channels, initial_scale):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, kernel_size=7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.widen = nn.Linear(channels, 4 * channels)
        self.activation = nn.GELU()
        self.narrow = nn.Linear(4 * channels, channels)
        self.scale = nn.Parameter(initial_scale * torch.ones(channels))

    def forward(self, x):  # (batch, channels, height, width)
        y = self.depthwise(x).permute(0, 2, 3, 1)  # channels last
        y = self.narrow(self.activation(self.widen(self.norm(y))))
        return x + (self.scale * y).permute(0, 3, 1, 2)


class Model(nn.Module):
    def __init__(self, channels, depth):
        super().__init__()
        self.patches = nn.Conv2d(3, channels, kernel_size=4, stride=4)
        self.blocks = nn.Sequential(*(Block(channels, initial_scale=0.1) for _ in range(depth)))

    def forward(self, images):  # (batch, 3, height, width)
        return self.blocks(self.patches(images))


batch = 2
channels = 24
depth = 2


def get_init_inputs():
    return [channels, depth]


def get_inputs():
    return [torch.rand(batch, 3, 40, 36)]
