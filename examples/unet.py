"""A U-Net whose double convolutions end in a softmax over the image's width."""
import torch
from torch import nn


class DoubleConv(nn.Module):
    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(channels_in, channels_out, kernel_size=3, padding=1),
            nn.BatchNorm2d(channels_out),
            nn.Softmax(dim=-1),
            nn.Conv2d(channels_out, channels_out, kernel_size=3, padding=1),
            nn.BatchNorm2d(channels_out),
            nn.Softmax(dim=-1),
        )

    def forward(self, x):
        return self.layers(x)


class Model(nn.Module):
    def __init__(self, channels_in, channels_out, width):
        super().__init__()
        self.down1 = DoubleConv(channels_in, width)
        self.down2 = DoubleConv(width, 2 * width)
        self.pool = nn.MaxPool2d(kernel_size=2, stride=2)
        self.bottom = DoubleConv(2 * width, 4 * width)
        self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, kernel_size=2, stride=2)
        self.merge2 = DoubleConv(4 * width, 2 * width)
        self.up1 = nn.ConvTranspose2d(2 * width, width, kernel_size=2, stride=2)
        self.merge1 = DoubleConv(2 * width, width)
        self.output = nn.Conv2d(width, channels_out, kernel_size=1)

    def forward(self, x):  # (batch, channels_in, height, width)
        skip1 = self.down1(x)
        skip2 = self.down2(self.pool(skip1))
        x = self.bottom(self.pool(skip2))
        x = self.merge2(torch.cat([self.up2(x), skip2], dim=1))
        x = self.merge1(torch.cat([self.up1(x), skip1], dim=1))
        return self.output(x)


batch = 2
channels_in = 3
channels_out = 4
width = 8


def get_init_inputs():
    return [channels_in, channels_out, width]


def get_inputs():
    return [torch.rand(batch, channels_in, 16, 24)]
