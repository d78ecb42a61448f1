"""Swin-MLP: inside each window a grouped 1-D convolution mixes the positions of every head; windows shift by padding."""
import torch
from torch import nn
from torch.nn import functional as F


def partition(x, window):  # (batch, h, w, c) -> (windows, window, window, c)
    batch, height, width, channels = x.shape
    x = x.view(batch, height // window, window, width // window, window, channels)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, window, window, channels)


def join(windows, window, height, width):  # the inverse
    batch = windows.shape[0] // ((height // window) * (width // window))
    x = windows.view(batch, height // window, width // window, window, window, -1)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(batch, height, width, -1)


class Block(nn.Module):
    def __init__(self, size, side, heads, window, shift):
        super().__init__()
        self.side, self.heads, self.window, self.shift = side, heads, window, shift
        self.norm1 = nn.LayerNorm(size)
        self.mix = nn.Conv1d(heads * window**2, heads * window**2, kernel_size=1, groups=heads)
        self.norm2 = nn.LayerNorm(size)
        self.mlp = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))

    def forward(self, x):  # (batch, side * side, size)
        batch, length, size = x.shape
        y = self.norm1(x).view(batch, self.side, self.side, size)
        before, after = self.window - self.shift, self.shift
        if self.shift:
            y = F.pad(y, (0, 0, before, after, before, after))
        padded = y.shape[1]
        windows = partition(y, self.window).view(-1, self.window**2, self.heads, size // self.heads)
        windows = windows.transpose(1, 2).reshape(-1, self.heads * self.window**2, size // self.heads)
        windows = self.mix(windows).view(-1, self.heads, self.window**2, size // self.heads)
        windows = windows.transpose(1, 2).reshape(-1, self.window, self.window, size)
        y = join(windows, self.window, padded, padded)
        if self.shift:
            y = y[:, before:-after, before:-after, :].contiguous()
        x = x + y.view(batch, length, size)
        return x + self.mlp(self.norm2(x))


class PatchMerging(nn.Module):
    def __init__(self, size, side):
        super().__init__()
        self.side = side
        self.norm = nn.LayerNorm(4 * size)
        self.reduction = nn.Linear(4 * size, 2 * size, bias=False)

    def forward(self, x):  # (batch, side * side, size) -> (batch, side * side / 4, 2 * size)
        x = x.view(x.shape[0], self.side, self.side, -1)
        x = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], dim=-1)
        return self.reduction(self.norm(x.flatten(1, 2)))


class Model(nn.Module):
    def __init__(self, size, side, heads, window, classes):
        super().__init__()
        self.patches = nn.Conv2d(3, size, kernel_size=4, stride=4)
        self.stage1 = nn.Sequential(Block(size, side, heads, window, 0), Block(size, side, heads, window, window // 2))
        self.merge = PatchMerging(size, side)
        self.stage2 = nn.Sequential(Block(2 * size, side // 2, 2 * heads, window, 0))
        self.norm = nn.LayerNorm(2 * size)
        self.pool = nn.AdaptiveAvgPool1d(1)
        self.head = nn.Linear(2 * size, classes)

    def forward(self, images):  # (batch, 3, 4 * side, 4 * side)
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = self.norm(self.stage2(self.merge(self.stage1(x))))
        return self.head(torch.flatten(self.pool(x.transpose(1, 2)), 1))


batch = 2
size = 24
side = 8
heads = 3
window = 4
classes = 10


def get_init_inputs():
    return [size, side, heads, window, classes]


def get_inputs():
    return [torch.rand(batch, 3, 4 * side, 4 * side)]
