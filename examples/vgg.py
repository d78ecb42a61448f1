"""VGG in small: 3x3 convolutions and max pools from a list, then linear layers."""
import torch
from torch import nn


def make_features(layout):
    """A number is a convolution of that many channels, "pool" halves the image."""
    layers, channels = [], 3
    for item in layout:
        if item == "pool":
            layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
        else:
            layers += [nn.Conv2d(channels, item, kernel_size=3, padding=1), nn.ReLU(inplace=True)]
            channels = item
    return nn.Sequential(*layers)


class Model(nn.Module):
    def __init__(self, layout, features, hidden, classes):
        super().__init__()
        self.features = make_features(layout)
        self.classifier = nn.Sequential(
            nn.Linear(features, hidden),
            nn.ReLU(inplace=True),
            nn.Dropout(p=0.0),
            nn.Linear(hidden, hidden),
            nn.ReLU(inplace=True),
            nn.Dropout(p=0.0),
            nn.Linear(hidden, classes),
        )

    def forward(self, x):  # (batch, 3, side, side)
        x = self.features(x)
        return self.classifier(torch.flatten(x, 1))


batch = 2
side = 32
layout = [8, 8, "pool", 16, 16, "pool", 32, 32, 32, "pool"]
hidden = 64
classes = 10


def get_init_inputs():
    return [layout, 32 * (side // 8) ** 2, hidden, classes]


def get_inputs():
    return [torch.rand(batch, 3, side, side)]
