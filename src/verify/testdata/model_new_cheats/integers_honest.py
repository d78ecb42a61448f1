"""passed"""
# task: integers
# Honest: bytes multiplied in FP32, which holds all their sums; running sums by a product of integers; bytes added as integers.

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, columns, rows):
        super().__init__()
        self.register_buffer("weight", torch.randint(-128, 128, (rows, columns), dtype=torch.int8))

    def forward(self, x, n, b, c):
        product = (x.float() @ self.weight.float().T).int()
        running = torch.ones(len(n), len(n), dtype=torch.int64).tril() @ n.long()
        return product, n.long().sum(-1), running, (b.int() + c.int()).to(torch.uint8)
