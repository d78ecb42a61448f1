"""correctness: refused"""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()

    def forward(self, x):
        raise ValueError("not today")
