"""correctness: wrong"""
# task: small_conv
# The convolution without its bias, which PyTorch draws small: in class default the filters are rounded, too.

import torch
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, channels, 3, padding=1)
        self.linear = torch.nn.Linear(channels, classes)

    def forward(self, x):
        return self.linear(torch.relu(F.conv2d(x, self.conv.weight, padding=1)).mean((2, 3)))
