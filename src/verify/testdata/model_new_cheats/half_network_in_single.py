"""passed"""
# task: half_residual
# Honest: each block in single precision, rounded to fp16 once.

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
        wide = x.float()
        inner = torch.relu(normalised(self.norm1, nn.functional.conv2d(wide, self.conv1.weight.float(), padding=1)))
        outer = normalised(self.norm2, nn.functional.conv2d(inner, self.conv2.weight.float(), padding=1))
        return torch.relu(wide + outer).half()


def normalised(norm, x):
    return nn.functional.batch_norm(x, *(t.float() for t in (norm.running_mean, norm.running_var, norm.weight, norm.bias)), eps=norm.eps)


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
