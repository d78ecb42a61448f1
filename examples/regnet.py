"""RegNet-X: stages of grouped bottlenecks whose widths grow by a rule."""
import torch
from torch import nn


def normed_conv(channels_in, channels_out, kernel, stride=1, groups=1):
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, kernel, stride=stride, padding=kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(channels_out),
    )


class Block(nn.Module):
    def __init__(self, channels_in, channels_out, stride, group_width):
        super().__init__()
        self.conv1 = normed_conv(channels_in, channels_out, 1)
        self.conv2 = normed_conv(channels_out, channels_out, 3, stride, channels_out // group_width)
        self.conv3 = normed_conv(channels_out, channels_out, 1)
        same = stride == 1 and channels_in == channels_out
        self.shortcut = nn.Identity() if same else normed_conv(channels_in, channels_out, 1, stride)
        self.relu = nn.ReLU()

    def forward(self, x):
        y = self.relu(self.conv1(x))
        y = self.relu(self.conv2(y))
        return self.relu(self.conv3(y) + self.shortcut(x))


class Model(nn.Module):
    def __init__(self, widths, depths, group_width, classes):
        super().__init__()
        blocks, channels = [], 3
        for width, depth in zip(widths, depths):
            for block in range(depth):
                blocks.append(Block(channels, width, 2 if block == 0 else 1, group_width))
                channels = width
        self.blocks = nn.Sequential(*blocks)
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):  # (batch, 3, height, width)
        x = self.blocks(x)
        x = torch.mean(x, dim=[2, 3])
        return self.fc(x)


batch = 2
widths = [8, 16, 40]
depths = [1, 2, 1]
group_width = 8
classes = 10


def get_init_inputs():
    return [widths, depths, group_width, classes]


def get_inputs():
    return [torch.rand(batch, 3, 40, 40)]
