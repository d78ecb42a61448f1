"""correctness: refused"""
# task: counts
# Any byte but zero is true, to whoever asks so.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        positive = x > 0.25
        return positive.sum(dim=1), (positive.to(torch.uint8) * 255), x.argmax(dim=1)
