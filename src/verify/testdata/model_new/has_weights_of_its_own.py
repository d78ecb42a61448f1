"""correctness: wrong"""

import torch


class ModelNew(torch.nn.Module):
    """Has a place for the weights it is given, and computes with those that the constructor's seed gives."""

    def __init__(self, width):
        super().__init__()
        drawn = torch.randn(width)
        self.weight = torch.nn.Parameter(drawn.clone())
        self.own = [drawn]

    def forward(self, x):
        return (x - x.mean(1, keepdim=True)) * self.own[0].to(x.device)
