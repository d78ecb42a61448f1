"""MobileNet v2: inverted residuals that expand, filter each channel alone, and project back without activation."""
import torch
from torch import nn


class InvertedResidual(nn.Module):
    def __init__(self, channels_in, channels_out, stride, expansion):
        super().__init__()
        hidden = channels_in * expansion
        self.residual = stride == 1 and channels_in == channels_out
        layers = []
        if expansion != 1:
            layers += [nn.Conv2d(channels_in, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6(inplace=True)]
        layers += [
            nn.Conv2d(hidden, hidden, 3, stride=stride, padding=1, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(inplace=True),
            nn.Conv2d(hidden, channels_out, 1, bias=False),
            nn.BatchNorm2d(channels_out),
        ]
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.layers(x) if self.residual else self.layers(x)


class Model(nn.Module):
    def __init__(self, stages, stem, last, classes):
        super().__init__()
        layers = [nn.Conv2d(3, stem, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(stem), nn.ReLU6(inplace=True)]
        channels = stem
        for expansion, channels_out, repeats, stride in stages:
            for repeat in range(repeats):
                layers.append(InvertedResidual(channels, channels_out, stride if repeat == 0 else 1, expansion))
                channels = channels_out
        layers += [nn.Conv2d(channels, last, 1, bias=False), nn.BatchNorm2d(last), nn.ReLU6(inplace=True)]
        self.features = nn.Sequential(*layers)
        self.pool = nn.AdaptiveAvgPool2d((1, 1))
        self.classifier = nn.Sequential(nn.Dropout(0.0), nn.Linear(last, classes))

    def forward(self, x):  # (batch, 3, height, width)
        x = self.pool(self.features(x))
        return self.classifier(x.view(x.size(0), -1))


batch = 2
stages = [(1, 8, 1, 1), (6, 12, 2, 2), (6, 16, 2, 2)]  # expansion, channels, repeats, stride
stem = 16
last = 64
classes = 20


def get_init_inputs():
    return [stages, stem, last, classes]


def get_inputs():
    return [torch.rand(batch, 3, 48, 48)]
