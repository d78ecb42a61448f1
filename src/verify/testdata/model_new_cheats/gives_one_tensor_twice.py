"""correctness: wrong"""
# task: hands_on
# One result in the place of two.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        return y, x.transpose(0, 1), y
