"""correctness: wrong"""
# task: norm_gelu
# No gain and no shift, and a buffer of one element so that it has some tensor.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.register_buffer("scratch", torch.zeros(1))

    def forward(self, x):
        return F.gelu(F.layer_norm(x, (self.width,)))
