"""tabular_resnet_wide: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, i=100, d=512, n=6):
        super().__init__()
        self.first = nn.Linear(i, d)
        self.b = nn.ModuleList(nn.Sequential(nn.BatchNorm1d(d), nn.Linear(d, 2 * d), nn.ReLU(), nn.Dropout(0.2), nn.Linear(2 * d, d)) for _ in range(n))
        self.last = nn.Sequential(nn.BatchNorm1d(d), nn.ReLU(), nn.Linear(d, 1))

    def forward(self, x):
        x = self.first(x)
        for b in self.b:
            x = x + b(x)
        return self.last(x).squeeze(-1)


def get_inputs():
    return [torch.randn(1024, 100)]

def get_init_inputs():
    return []
