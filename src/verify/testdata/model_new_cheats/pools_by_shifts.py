"""passed"""
# task: pooling
# Honest: windows by shifted copies.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        padded = F.pad(x, (1, 1, 1, 1), value=float("-inf"))
        h, w = (x.shape[2] - 1) // 2 + 1, (x.shape[3] - 1) // 2 + 1
        y = torch.stack([padded[:, :, i:i + 2 * h - 1:2, j:j + 2 * w - 1:2] for i in range(3) for j in range(3)]).amax(0)
        z = F.pad(y, (1, 1, 1, 1))
        h, w = h // 2 + 1, w // 2 + 1
        return sum(z[:, :, i:i + 2 * h - 1:2, j:j + 2 * w - 1:2] for i in range(2) for j in range(2)) / 4
