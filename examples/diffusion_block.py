"""A diffusion U-Net's block: group norm, SiLU, convolution, a shift from the time embedding, and attention over pixels."""
import math

import torch
from torch import nn
from torch.nn import functional as F


def time_features(time, size):
    """Sines and cosines of the time step at geometrically spaced frequencies."""
    half = size // 2
    frequency = torch.exp(-math.log(10000.0) * torch.arange(half, device=time.device) / half)
    angles = time[:, None] * frequency[None, :]
    return torch.cat((torch.cos(angles), torch.sin(angles)), dim=-1)


class ResidualBlock(nn.Module):
    def __init__(self, channels_in, channels_out, time_size, groups):
        super().__init__()
        self.norm1 = nn.GroupNorm(groups, channels_in)
        self.conv1 = nn.Conv2d(channels_in, channels_out, kernel_size=3, padding=1)
        self.time = nn.Linear(time_size, channels_out)
        self.norm2 = nn.GroupNorm(groups, channels_out)
        self.conv2 = nn.Conv2d(channels_out, channels_out, kernel_size=3, padding=1)
        self.shortcut = nn.Conv2d(channels_in, channels_out, kernel_size=1)

    def forward(self, x, embedding):
        y = self.conv1(F.silu(self.norm1(x)))
        y = y + self.time(F.silu(embedding))[:, :, None, None]
        return self.conv2(F.silu(self.norm2(y))) + self.shortcut(x)


class PixelAttention(nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)
        self.qkv = nn.Conv2d(channels, 3 * channels, kernel_size=1)
        self.out = nn.Conv2d(channels, channels, kernel_size=1)

    def forward(self, x):  # (batch, channels, height, width)
        q, k, v = self.qkv(self.norm(x)).flatten(2).transpose(1, 2).chunk(3, dim=-1)  # (batch, pixels, channels)
        y = F.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.transpose(1, 2).reshape(x.shape))


class Model(nn.Module):
    def __init__(self, channels, width, time_size, groups):
        super().__init__()
        self.time_size = time_size
        self.time_mlp = nn.Sequential(nn.Linear(time_size, 4 * time_size), nn.SiLU(), nn.Linear(4 * time_size, time_size))
        self.input = nn.Conv2d(channels, width, kernel_size=3, padding=1)
        self.down = nn.Conv2d(width, width, kernel_size=3, stride=2, padding=1)
        self.middle = ResidualBlock(width, 2 * width, time_size, groups)
        self.attention = PixelAttention(2 * width, groups)
        self.up = nn.Sequential(nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2d(2 * width, width, kernel_size=3, padding=1))
        self.merge = ResidualBlock(2 * width, width, time_size, groups)
        self.output = nn.Conv2d(width, channels, kernel_size=3, padding=1)

    def forward(self, x, time):  # (batch, channels, height, width), (batch,)
        embedding = self.time_mlp(time_features(time, self.time_size))
        skip = self.input(x)
        x = self.attention(self.middle(self.down(skip), embedding))
        x = self.merge(torch.cat((self.up(x), skip), dim=1), embedding)
        return self.output(x)


batch = 2
channels = 3
width = 16
time_size = 24
groups = 4


def get_init_inputs():
    return [channels, width, time_size, groups]


def get_inputs():
    return [torch.randn(batch, channels, 12, 16), torch.tensor([3.0, 250.0])]
