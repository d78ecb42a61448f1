"""detr_small: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, d=256, classes=91):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 4, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 256, 3, 4, 1), nn.BatchNorm2d(256), nn.ReLU(),
                                  nn.Conv2d(256, 512, 3, 2, 1), nn.BatchNorm2d(512), nn.ReLU())
        self.conv = nn.Conv2d(512, d, 1)
        self.transformer = nn.Transformer(d, 8, 3, 3, 1024)
        self.cls, self.box = nn.Linear(d, classes + 1), nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 4))
        self.query = nn.Parameter(torch.rand(100, d))
        self.row, self.col = nn.Parameter(torch.rand(50, d // 2)), nn.Parameter(torch.rand(50, d // 2))

    def forward(self, x):
        h = self.conv(self.stem(x))
        H, W = h.shape[-2:]
        pos = torch.cat([self.col[:W].unsqueeze(0).repeat(H, 1, 1), self.row[:H].unsqueeze(1).repeat(1, W, 1)], -1).flatten(0, 1).unsqueeze(1)
        src = pos + 0.1 * h.flatten(2).permute(2, 0, 1)
        h = self.transformer(src, self.query.unsqueeze(1).expand(-1, x.shape[0], -1)).transpose(0, 1)
        return self.cls(h), self.box(h).sigmoid()


def get_inputs():
    return [torch.randn(2, 3, 512, 512)]

def get_init_inputs():
    return []
