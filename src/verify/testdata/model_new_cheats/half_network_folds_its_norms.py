"""passed"""
# task: half_residual
# Honest: each norm is folded into the convolution before it, and rounded to fp16 there.

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)

    def forward(self, x):
        return torch.relu(x + folded(self.conv2, self.norm2, torch.relu(folded(self.conv1, self.norm1, x))))


def folded(conv, norm, x):
    scale = norm.weight.float() * torch.rsqrt(norm.running_var.float() + norm.eps)
    weight = (conv.weight.float() * scale[:, None, None, None]).half()
    bias = (norm.bias.float() - norm.running_mean.float() * scale).half()
    return nn.functional.conv2d(x, weight, bias, padding=1)


class ModelNew(nn.Module):
    def __init__(self, width, blocks, classes):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1, bias=False)
        self.blocks = nn.ModuleList(Block(width) for _ in range(blocks))
        self.head = nn.Linear(width, classes)
        self.half().eval()

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean((2, 3)))
