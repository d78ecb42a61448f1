"""correctness: left_early | refused | crashed"""
# Ends the process in the middle of a call, with a good exit code.

import os

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))

    def forward(self, x):
        os._exit(0)
