"""A small video classifier: 3-D convolutions, batch norm and pooling over time and space."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv3d(3, width, kernel_size=(3, 5, 5), stride=(1, 2, 2), padding=(1, 2, 2), bias=False),
            nn.BatchNorm3d(width),
            nn.ReLU(inplace=True),
            nn.MaxPool3d(kernel_size=(1, 2, 2)),
            nn.Conv3d(width, 2 * width, kernel_size=3, padding=1),
            nn.GroupNorm(4, 2 * width),
            nn.Hardswish(),
            nn.AvgPool3d(kernel_size=2),
            nn.Conv3d(2 * width, 2 * width, kernel_size=(3, 1, 1), padding=(1, 0, 0), groups=2),
        )
        self.pool = nn.AdaptiveAvgPool3d(1)
        self.head = nn.Linear(2 * width, classes)

    def forward(self, video):  # (batch, 3, frames, height, width)
        return self.head(self.pool(self.features(video)).flatten(1))


batch = 2
frames = 6
width = 8
classes = 10


def get_init_inputs():
    return [width, classes]


def get_inputs():
    return [torch.rand(batch, 3, frames, 24, 24)]
