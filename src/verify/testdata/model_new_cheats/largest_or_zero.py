"""correctness: wrong"""
# task: largest
# Begins with zero: right as long as some element of a row is positive.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.clamp(min=0).amax(1)
