"""DenseNet: every layer reads all layers before it, and transitions halve channels and image."""
import torch
from torch import nn
from torch.nn import functional as F


class DenseLayer(nn.Sequential):
    """Normalise and activate before the convolution."""

    def __init__(self, channels, growth):
        super().__init__(
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(channels, growth, kernel_size=3, padding=1, bias=False),
            nn.Dropout(0.0),
        )


class DenseBlock(nn.Module):
    def __init__(self, layers, channels, growth):
        super().__init__()
        self.layers = nn.ModuleList(DenseLayer(channels + i * growth, growth) for i in range(layers))

    def forward(self, x):
        features = [x]
        for layer in self.layers:
            features.append(layer(x))
            x = torch.cat(features, dim=1)
        return x


class Transition(nn.Sequential):
    def __init__(self, channels_in, channels_out):
        super().__init__(
            nn.BatchNorm2d(channels_in),
            nn.ReLU(inplace=True),
            nn.Conv2d(channels_in, channels_out, kernel_size=1, bias=False),
            nn.AvgPool2d(kernel_size=2, stride=2),
        )


class Model(nn.Module):
    def __init__(self, blocks, stem, growth, classes):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, stem, kernel_size=7, stride=2, padding=3, bias=False),
            nn.BatchNorm2d(stem),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
        )
        stages, channels = [], stem
        for number, layers in enumerate(blocks):
            stages.append(DenseBlock(layers, channels, growth))
            channels += layers * growth
            if number < len(blocks) - 1:
                stages.append(Transition(channels, channels // 2))
                channels //= 2
        self.stages = nn.Sequential(*stages)
        self.final_norm = nn.BatchNorm2d(channels)
        self.classifier = nn.Linear(channels, classes)

    def forward(self, x):  # (batch, 3, height, width)
        x = self.stages(self.stem(x))
        x = F.relu(self.final_norm(x), inplace=True)
        x = F.adaptive_avg_pool2d(x, (1, 1)).view(x.size(0), -1)
        return self.classifier(x)


batch = 2
blocks = [3, 4, 3]
stem = 16
growth = 8
classes = 10


def get_init_inputs():
    return [blocks, stem, growth, classes]


def get_inputs():
    return [torch.rand(batch, 3, 64, 64)]
