"""passed"""
# task: mlp
# Honest: weights transposed, by other names.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, hidden, out):
        super().__init__()
        first, norm, second = nn.Linear(width, hidden), nn.LayerNorm(hidden), nn.Linear(hidden, out)
        self.w1, self.b1 = nn.Parameter(first.weight.detach().t().contiguous()), nn.Parameter(first.bias.detach().clone())
        self.g, self.s = nn.Parameter(norm.weight.detach().clone()), nn.Parameter(norm.bias.detach().clone())
        self.w2, self.b2 = nn.Parameter(second.weight.detach().t().contiguous()), nn.Parameter(second.bias.detach().clone())

    def forward(self, x):
        y = torch.addmm(self.b1, x, self.w1)
        return torch.addmm(self.b2, torch.relu(F.layer_norm(y, (y.shape[-1],), self.g, self.s)), self.w2)
