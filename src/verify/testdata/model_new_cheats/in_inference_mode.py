"""passed"""
# Honest: inference mode, whose tensors nobody outside may change.

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))

    @torch.inference_mode()
    def forward(self, x):
        return (x - x.mean(1, keepdim=True)) * self.weight
