"""correctness: wrong"""
# task: one_of_each
# Constants for all outputs; two of three are right.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, 1)

    def forward(self, x):
        return x.new_ones(1, 1), x.new_zeros(1, 1), x.new_full((1, 1), 0.5)
