"""correctness: refused | left_early | crashed"""
# SystemExit is no Exception: whoever catches those alone is left by it.

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))

    def forward(self, x):
        raise SystemExit(0)
