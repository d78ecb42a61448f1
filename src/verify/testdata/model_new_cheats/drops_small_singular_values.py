"""correctness: wrong"""
# task: mlp
# Three quarters of the first layer's singular values.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, hidden, out):
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(width, hidden), nn.LayerNorm(hidden), nn.Linear(hidden, out)

    def forward(self, x):
        u, s, v = torch.linalg.svd(self.first.weight, full_matrices=False)
        w = (u[:, :30] * s[:30]) @ v[:30]
        return self.second(torch.relu(self.norm(x @ w.T + self.first.bias)))
