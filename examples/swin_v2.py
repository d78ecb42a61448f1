"""Swin Transformer v2 in small: cosine attention in shifted windows, position bias from an MLP over log-spaced offsets."""
import math

import torch
from torch import nn
from torch.nn import functional as F


def partition(x, window):  # (batch, h, w, c) -> (windows, window * window, c)
    batch, height, width, channels = x.shape
    x = x.view(batch, height // window, window, width // window, window, channels)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, window * window, channels)


def join(windows, window, side):  # the inverse
    x = windows.view(-1, side // window, side // window, window, window, windows.shape[-1])
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, side, side, windows.shape[-1])


def offset_table(window):
    """Every offset between two places of a window, log-spaced to about [-1, 1]."""
    offsets = torch.arange(-(window - 1), window, dtype=torch.float32)
    table = torch.stack(torch.meshgrid(offsets, offsets, indexing="ij"), dim=-1) * 8 / (window - 1)
    return torch.sign(table) * torch.log2(torch.abs(table) + 1.0) / math.log2(8)


def offset_index(window):
    """For each pair of places in a window, the row of its offset in the table."""
    places = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
    relative = places[:, :, None] - places[:, None, :] + window - 1
    return relative[0] * (2 * window - 1) + relative[1]


def shift_mask(side, window, shift):
    """After the shift, places from opposite borders share a window: they may not see each other."""
    region = torch.zeros(1, side, side, 1)
    bands = (slice(0, -window), slice(-window, -shift), slice(-shift, None))
    for number, (rows, columns) in enumerate((r, c) for r in bands for c in bands):
        region[:, rows, columns] = number
    region = partition(region, window).squeeze(-1)
    difference = region.unsqueeze(1) - region.unsqueeze(2)
    return torch.zeros_like(difference).masked_fill(difference != 0, -100.0)


class WindowAttention(nn.Module):
    def __init__(self, size, window, heads):
        super().__init__()
        self.heads = heads
        self.logit_scale = nn.Parameter(torch.full((heads, 1, 1), math.log(10.0)))
        self.bias_mlp = nn.Sequential(nn.Linear(2, 512), nn.ReLU(inplace=True), nn.Linear(512, heads, bias=False))
        self.register_buffer("table", offset_table(window), persistent=False)
        self.register_buffer("index", offset_index(window), persistent=False)
        self.qkv = nn.Linear(size, 3 * size, bias=False)
        self.q_bias = nn.Parameter(torch.zeros(size))
        self.v_bias = nn.Parameter(torch.zeros(size))
        self.proj = nn.Linear(size, size)

    def forward(self, x, mask):  # (windows, places, size)
        windows, places, size = x.shape
        bias = torch.cat((self.q_bias, torch.zeros_like(self.v_bias), self.v_bias))
        qkv = F.linear(x, self.qkv.weight, bias).reshape(windows, places, 3, self.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        scores = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
        scores = scores * torch.clamp(self.logit_scale, max=math.log(100.0)).exp()
        table = self.bias_mlp(self.table).view(-1, self.heads)
        scores = scores + 16 * torch.sigmoid(table[self.index].permute(2, 0, 1).contiguous()).unsqueeze(0)
        if mask is not None:
            scores = scores.view(-1, mask.shape[0], self.heads, places, places) + mask.unsqueeze(1).unsqueeze(0)
            scores = scores.view(-1, self.heads, places, places)
        return self.proj((scores.softmax(dim=-1) @ v).transpose(1, 2).reshape(windows, places, size))


class Block(nn.Module):
    def __init__(self, size, side, heads, window, shift):
        super().__init__()
        self.side, self.window = side, min(window, side)
        self.shift = shift if side > window else 0  # one window holds the whole image: nothing to shift
        self.attention = WindowAttention(size, self.window, heads)
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.mlp = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))
        self.register_buffer("mask", shift_mask(side, window, shift) if self.shift else None, persistent=False)

    def forward(self, x):  # (batch, side * side, size)
        batch, length, size = x.shape
        y = x.view(batch, self.side, self.side, size)
        if self.shift:
            y = torch.roll(y, shifts=(-self.shift, -self.shift), dims=(1, 2))
        y = join(self.attention(partition(y, self.window), self.mask), self.window, self.side)
        if self.shift:
            y = torch.roll(y, shifts=(self.shift, self.shift), dims=(1, 2))
        x = x + self.norm1(y.view(batch, length, size))  # version 2 normalises after the branch
        return x + self.norm2(self.mlp(x))


class PatchMerging(nn.Module):
    def __init__(self, size, side):
        super().__init__()
        self.side = side
        self.reduction = nn.Linear(4 * size, 2 * size, bias=False)
        self.norm = nn.LayerNorm(2 * size)

    def forward(self, x):  # (batch, side * side, size) -> (batch, side * side / 4, 2 * size)
        x = x.view(x.shape[0], self.side, self.side, -1)
        x = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], dim=-1)
        return self.norm(self.reduction(x.flatten(1, 2)))


class Model(nn.Module):
    def __init__(self, side, patch, size, depths, heads, window, classes):
        super().__init__()
        self.patches = nn.Conv2d(3, size, kernel_size=patch, stride=patch)
        self.patch_norm = nn.LayerNorm(size)
        side, layers = side // patch, []
        for stage, depth in enumerate(depths):
            layers += [Block(size, side, heads[stage], window, window // 2 * (block % 2)) for block in range(depth)]
            if stage < len(depths) - 1:
                layers.append(PatchMerging(size, side))
                size, side = 2 * size, side // 2
        self.layers = nn.Sequential(*layers)
        self.norm = nn.LayerNorm(size)
        self.pool = nn.AdaptiveAvgPool1d(1)
        self.head = nn.Linear(size, classes)

    def forward(self, images):  # (batch, 3, side, side)
        x = self.patch_norm(self.patches(images).flatten(2).transpose(1, 2))
        x = self.norm(self.layers(x))
        return self.head(torch.flatten(self.pool(x.transpose(1, 2)), 1))


batch = 2
side = 32
patch = 4
size = 24
depths = [2, 2]
heads = [3, 6]
window = 4
classes = 10


def get_init_inputs():
    return [side, patch, size, depths, heads, window, classes]


def get_inputs():
    return [torch.rand(batch, 3, side, side)]
