"""correctness: wrong"""
# task: faint_input
# An input that is added times a millionth is never read.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, correction):
        return torch.tanh(x) * 3
