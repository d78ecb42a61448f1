"""correctness: wrong"""
# task: integers
# Bytes that stop at 255 where PyTorch's begin anew.

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, columns, rows):
        super().__init__()
        self.register_buffer("weight", torch.randint(-128, 128, (rows, columns), dtype=torch.int8))

    def forward(self, x, n, b, c):
        sums = (b.int() + c.int()).clamp(max=255).to(torch.uint8)
        return x.int() @ self.weight.int().T, n.sum(-1), n.cumsum(0), sums
