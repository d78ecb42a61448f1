"""A convolutional vision transformer: one strided convolution makes a token, encoder layers and a class token follow."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, side, patch, size, layers, heads, classes):
        super().__init__()
        self.patches = nn.Conv2d(3, size, kernel_size=patch, stride=patch)
        self.project = nn.Linear(size * (side // patch) ** 2, size)
        self.class_token = nn.Parameter(torch.zeros(1, 1, size))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(size, heads, 4 * size, dropout=0.0) for _ in range(layers)
        )
        self.head = nn.Linear(size, classes)

    def forward(self, x):  # (batch, 3, side, side)
        x = self.patches(x).flatten(start_dim=1)
        x = self.project(x).unsqueeze(1)  # (batch, 1, size)
        x = torch.cat((self.class_token.expand(x.size(0), -1, -1), x), dim=1)
        # batch_first is off, so attention runs across the batch: unusual, and exactly what must be kept.
        for layer in self.layers:
            x = layer(x)
        return self.head(x[:, 0])


batch = 5
side = 32
patch = 4
size = 32
layers = 2
heads = 4
classes = 100


def get_init_inputs():
    return [side, patch, size, layers, heads, classes]


def get_inputs():
    return [torch.rand(batch, 3, side, side)]
