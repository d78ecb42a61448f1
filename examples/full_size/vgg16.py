"""VGG-16 at ImageNet size: 138.36 M parameters, ten 224x224 images."""
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


batch = 10
side = 224
layout = [64, 64, "pool", 128, 128, "pool", 256, 256, 256, "pool", 512, 512, 512, "pool", 512, 512, 512, "pool"]
hidden = 4096
classes = 1000


def get_init_inputs():
    return [layout, 512 * (side // 32) ** 2, hidden, classes]


def get_inputs():
    return [torch.rand(batch, 3, side, side)]
