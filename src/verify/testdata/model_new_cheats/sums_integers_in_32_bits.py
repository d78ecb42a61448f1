"""correctness: wrong"""
# task: integers
# Running sums of 32 bits, which PyTorch makes 64.

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, columns, rows):
        super().__init__()
        self.register_buffer("weight", torch.randint(-128, 128, (rows, columns), dtype=torch.int8))

    def forward(self, x, n, b, c):
        return x.int() @ self.weight.int().T, n.sum(-1), n.cumsum(0, dtype=torch.int32).long(), b + c
