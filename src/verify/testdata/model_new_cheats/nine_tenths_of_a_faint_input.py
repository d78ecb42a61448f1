"""correctness: wrong"""
# task: faint_input
# An input that is added times a millionth, off by a tenth.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, correction):
        return torch.tanh(x) * 3 + 1e-6 * correction.bfloat16().float() * 0.9
