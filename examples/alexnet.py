"""AlexNet at an eighth of its width: large strided kernels first, overlapping max pools, three linear layers."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, classes, width):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, width, kernel_size=11, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(width, 3 * width, kernel_size=5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(3 * width, 6 * width, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(6 * width, 4 * width, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(4 * width, 4 * width, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
        )
        self.classifier = nn.Sequential(
            nn.Dropout(0.0),
            nn.Linear(4 * width * 3 * 3, 64 * width // 4),
            nn.ReLU(inplace=True),
            nn.Dropout(0.0),
            nn.Linear(64 * width // 4, classes),
        )

    def forward(self, x):  # (batch, 3, 127, 127)
        x = self.features(x)  # (batch, 4 * width, 3, 3)
        return self.classifier(torch.flatten(x, 1))


batch = 2
classes = 100
width = 8


def get_init_inputs():
    return [classes, width]


def get_inputs():
    return [torch.rand(batch, 3, 127, 127)]
