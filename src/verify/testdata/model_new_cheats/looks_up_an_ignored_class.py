"""correctness: wrong"""
# task: ignored_class
# The ignored class is taken for the first one.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, z, t):
        return -torch.log_softmax(z, -1).gather(-1, t.clamp(min=0)[:, None]).mean()
