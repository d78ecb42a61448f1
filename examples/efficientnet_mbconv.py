"""EfficientNet's MBConv blocks: inverted residuals with a squeeze-and-excite gate per channel."""
import torch
from torch import nn


class SqueezeExcite(nn.Module):
    """Each channel is scaled by a gate computed from the average of all."""

    def __init__(self, channels, squeezed):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.reduce = nn.Conv2d(channels, squeezed, kernel_size=1)
        self.expand = nn.Conv2d(squeezed, channels, kernel_size=1)
        self.activation = nn.SiLU(inplace=True)

    def forward(self, x):
        gate = self.activation(self.reduce(self.pool(x)))
        return x * torch.sigmoid(self.expand(gate))


class MBConv(nn.Module):
    def __init__(self, channels_in, channels_out, kernel, stride, expansion):
        super().__init__()
        hidden = channels_in * expansion
        self.residual = stride == 1 and channels_in == channels_out
        self.expand = nn.Sequential(nn.Conv2d(channels_in, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.SiLU(inplace=True))
        self.depthwise = nn.Sequential(
            nn.Conv2d(hidden, hidden, kernel, stride=stride, padding=kernel // 2, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden),
            nn.SiLU(inplace=True),
        )
        self.gate = SqueezeExcite(hidden, max(1, channels_in // 4))
        self.project = nn.Sequential(nn.Conv2d(hidden, channels_out, 1, bias=False), nn.BatchNorm2d(channels_out))

    def forward(self, x):
        shortcut = x
        x = self.project(self.gate(self.depthwise(self.expand(x))))
        if self.residual:
            x += shortcut
        return x


class Model(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.blocks = nn.Sequential(
            MBConv(channels, channels, kernel=3, stride=1, expansion=4),
            MBConv(channels, 2 * channels, kernel=5, stride=2, expansion=6),
            MBConv(2 * channels, 2 * channels, kernel=5, stride=1, expansion=6),
        )
        self.head = nn.Linear(2 * channels, classes)

    def forward(self, x):  # (batch, channels, height, width)
        return self.head(self.blocks(x).mean(dim=(2, 3)))


batch = 2
channels = 12
classes = 20


def get_init_inputs():
    return [channels, classes]


def get_inputs():
    return [torch.rand(batch, channels, 20, 20)]
