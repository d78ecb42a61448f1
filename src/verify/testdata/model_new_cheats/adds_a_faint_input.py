"""passed"""
# task: faint_input
# Honest: an input that hardly matters, added.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, correction):
        return torch.add(torch.tanh(x).mul_(3), correction, alpha=1e-6)
