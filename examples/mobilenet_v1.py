"""MobileNet v1: every convolution but the first is depthwise, then pointwise."""
import torch
from torch import nn


def convolution(channels_in, channels_out, stride):
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, kernel_size=3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(channels_out),
        nn.ReLU(inplace=True),
    )


def separable(channels_in, channels_out, stride):
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_in, kernel_size=3, stride=stride, padding=1, groups=channels_in, bias=False),
        nn.BatchNorm2d(channels_in),
        nn.ReLU(inplace=True),
        nn.Conv2d(channels_in, channels_out, kernel_size=1, bias=False),
        nn.BatchNorm2d(channels_out),
        nn.ReLU(inplace=True),
    )


class Model(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.features = nn.Sequential(
            convolution(3, width, 2),
            separable(width, 2 * width, 1),
            separable(2 * width, 4 * width, 2),
            separable(4 * width, 4 * width, 1),
            separable(4 * width, 8 * width, 2),
            separable(8 * width, 8 * width, 1),
            nn.AvgPool2d(7),
        )
        self.classifier = nn.Linear(8 * width, classes)

    def forward(self, x):  # (batch, 3, 56, 56)
        x = self.features(x)  # (batch, 8 * width, 1, 1)
        return self.classifier(x.view(x.size(0), -1))


batch = 2
width = 8
classes = 20


def get_init_inputs():
    return [width, classes]


def get_inputs():
    return [torch.rand(batch, 3, 56, 56)]
