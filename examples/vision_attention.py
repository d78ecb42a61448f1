"""Attention over the pixels of an image: nn.MultiheadAttention, a residual and a layer norm."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(size, heads)
        self.norm = nn.LayerNorm(size)

    def forward(self, x):  # (batch, size, height, width)
        batch, size, height, width = x.shape
        tokens = x.view(batch, size, height * width).permute(2, 0, 1)  # (pixels, batch, size)
        attended, _ = self.attention(tokens, tokens, tokens)
        tokens = self.norm(attended + tokens)
        return tokens.permute(1, 2, 0).view(batch, size, height, width)


batch = 2
size = 16
heads = 4
height, width = 8, 7


def get_init_inputs():
    return [size, heads]


def get_inputs():
    return [torch.rand(batch, size, height, width)]
