"""passed"""
# task: residual_norm
# Honest: PyTorch's norm of a vector.

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x, residual):
        total = torch.add(x, residual)
        return total / torch.sqrt(torch.linalg.vector_norm(total, dim=-1, keepdim=True).square() / total.shape[-1] + 1e-6) * self.weight, total
