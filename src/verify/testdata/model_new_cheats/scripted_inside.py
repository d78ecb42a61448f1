"""passed"""
# Honest: a scripted function, which PyTorch optimises at its second call.

import torch


@torch.jit.script
def center(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return (x - x.mean(1, keepdim=True)) * weight


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))

    def forward(self, x):
        return center(x, self.weight)
