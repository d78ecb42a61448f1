"""A convolution, BatchNorm with the batch's own statistics, and a ReLU."""
import torch
from torch import nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels_out, kernel_size=3, padding=1)
        self.norm = nn.BatchNorm2d(channels_out)

    def forward(self, x):  # (batch, channels_in, height, width)
        return F.relu(self.norm(self.conv(x)))


batch, channels_in, channels_out, height, width = 4, 8, 10, 17, 15


def get_init_inputs():
    return [channels_in, channels_out]


def get_inputs():
    return [torch.rand(batch, channels_in, height, width)]
