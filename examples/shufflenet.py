"""ShuffleNet: grouped 1x1 convolutions, with a channel shuffle so that the groups talk to each other."""
import torch
from torch import nn
from torch.nn import functional as F


class ChannelShuffle(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, x):
        batch, channels, height, width = x.size()
        x = x.view(batch, self.groups, channels // self.groups, height, width)
        x = x.transpose(1, 2).contiguous()
        return x.view(batch, channels, height, width)


class Unit(nn.Module):
    def __init__(self, channels_in, channels_out, groups):
        super().__init__()
        middle = channels_out // 4
        self.conv1 = nn.Conv2d(channels_in, middle, kernel_size=1, groups=groups, bias=False)
        self.bn1 = nn.BatchNorm2d(middle)
        self.shuffle = ChannelShuffle(groups)
        self.conv2 = nn.Conv2d(middle, middle, kernel_size=3, padding=1, groups=middle, bias=False)
        self.bn2 = nn.BatchNorm2d(middle)
        self.conv3 = nn.Conv2d(middle, channels_out, kernel_size=1, groups=groups, bias=False)
        self.bn3 = nn.BatchNorm2d(channels_out)
        self.shortcut = nn.Identity()
        if channels_in != channels_out:
            self.shortcut = nn.Sequential(nn.Conv2d(channels_in, channels_out, kernel_size=1, bias=False), nn.BatchNorm2d(channels_out))

    def forward(self, x):
        y = self.shuffle(F.relu(self.bn1(self.conv1(x))))
        y = self.bn2(self.conv2(y))
        y = F.relu(self.bn3(self.conv3(y)))
        y += self.shortcut(x)
        return y


class Model(nn.Module):
    def __init__(self, channels, groups, classes):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, channels, kernel_size=3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
        )
        self.units = nn.Sequential(
            Unit(channels, 2 * channels, groups),
            Unit(2 * channels, 2 * channels, groups),
            Unit(2 * channels, 4 * channels, groups),
        )
        self.fc = nn.Linear(4 * channels, classes)

    def forward(self, x):  # (batch, 3, height, width)
        x = self.units(self.stem(x))
        x = F.adaptive_avg_pool2d(x, (1, 1))
        return self.fc(x.view(x.size(0), -1))


batch = 2
channels = 24
groups = 3
classes = 20


def get_init_inputs():
    return [channels, groups, classes]


def get_inputs():
    return [torch.rand(batch, 3, 48, 48)]
