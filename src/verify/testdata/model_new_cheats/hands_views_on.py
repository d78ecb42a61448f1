"""passed"""
# task: hands_on
# Honest: outputs that are the input and a view of it.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x, x.T, x.clamp_min(0)
