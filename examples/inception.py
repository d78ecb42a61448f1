"""One GoogLeNet inception module: four branches of different reach, joined along the channels."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, channels, out1, reduce3, out3, reduce5, out5, out_pool):
        super().__init__()
        self.branch1 = nn.Conv2d(channels, out1, kernel_size=1)
        self.branch3 = nn.Sequential(
            nn.Conv2d(channels, reduce3, kernel_size=1),
            nn.Conv2d(reduce3, out3, kernel_size=3, padding=1),
        )
        self.branch5 = nn.Sequential(
            nn.Conv2d(channels, reduce5, kernel_size=1),
            nn.Conv2d(reduce5, out5, kernel_size=5, padding=2),
        )
        self.branch_pool = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1),
            nn.Conv2d(channels, out_pool, kernel_size=1),
        )

    def forward(self, x):  # (batch, channels, height, width)
        branches = [self.branch1(x), self.branch3(x), self.branch5(x), self.branch_pool(x)]
        return torch.cat(branches, dim=1)


batch = 2
channels = 48
height, width = 14, 17


def get_init_inputs():
    return [channels, 24, 12, 32, 4, 8, 8]


def get_inputs():
    return [torch.rand(batch, channels, height, width)]
