"""correctness: wrong"""
# task: integers
# A product of bytes whose sums are kept in 16 bits.

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, columns, rows):
        super().__init__()
        self.register_buffer("weight", torch.randint(-128, 128, (rows, columns), dtype=torch.int8))

    def forward(self, x, n, b, c):
        product = x.short() @ self.weight.short().T
        return product.int(), n.sum(-1), n.cumsum(0), b + c
