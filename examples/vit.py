"""A vision transformer: patches become tokens, a class token joins them, encoder layers mix them."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, side, patch, size, depth, heads, hidden, classes):
        super().__init__()
        self.patch = patch
        patches = (side // patch) ** 2
        self.embed = nn.Linear(3 * patch**2, size)
        self.class_token = nn.Parameter(torch.randn(1, 1, size))
        self.positions = nn.Parameter(torch.randn(1, patches + 1, size))
        layer = nn.TransformerEncoderLayer(size, heads, hidden, dropout=0.0, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth)
        self.head = nn.Sequential(nn.LayerNorm(size), nn.Linear(size, hidden), nn.GELU(), nn.Linear(hidden, classes))

    def forward(self, images):  # (batch, 3, side, side)
        patches = images.unfold(2, self.patch, self.patch).unfold(3, self.patch, self.patch)
        patches = patches.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)  # (batch, patches, 3 * patch * patch)
        x = self.embed(patches)
        x = torch.cat((self.class_token.expand(x.size(0), -1, -1), x), dim=1)
        x += self.positions
        return self.head(self.encoder(x)[:, 0])


batch = 2
side = 32
patch = 8
size = 32
depth = 2
heads = 4
hidden = 64
classes = 10


def get_init_inputs():
    return [side, patch, size, depth, heads, hidden, classes]


def get_inputs():
    return [torch.rand(batch, 3, side, side)]
