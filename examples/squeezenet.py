"""SqueezeNet: fire modules that squeeze to few channels and expand by 1x1 and 3x3 side by side."""
import torch
from torch import nn


class Fire(nn.Module):
    def __init__(self, channels, squeeze, expand):
        super().__init__()
        self.squeeze = nn.Conv2d(channels, squeeze, kernel_size=1)
        self.expand1 = nn.Conv2d(squeeze, expand, kernel_size=1)
        self.expand3 = nn.Conv2d(squeeze, expand, kernel_size=3, padding=1)
        self.activation = nn.ReLU(inplace=True)

    def forward(self, x):  # (batch, channels, h, w) -> (batch, 2 * expand, h, w)
        x = self.activation(self.squeeze(x))
        return torch.cat([self.activation(self.expand1(x)), self.activation(self.expand3(x))], dim=1)


class Model(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 24, kernel_size=7, stride=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True),
            Fire(24, 8, 16),
            Fire(32, 8, 16),
            nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True),
            Fire(32, 12, 24),
            Fire(48, 12, 24),
        )
        self.classifier = nn.Sequential(
            nn.Dropout(p=0.0),
            nn.Conv2d(48, classes, kernel_size=1),
            nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d((1, 1)),
        )

    def forward(self, x):  # (batch, 3, height, width)
        return torch.flatten(self.classifier(self.features(x)), 1)


batch = 2
classes = 20


def get_init_inputs():
    return [classes]


def get_inputs():
    return [torch.rand(batch, 3, 70, 70)]
