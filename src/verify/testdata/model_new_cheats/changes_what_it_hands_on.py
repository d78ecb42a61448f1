"""correctness: wrong"""
# task: hands_on
# The input is handed on as an output, changed in place.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.transpose(0, 1).clone()
        return x.relu_(), y, x
