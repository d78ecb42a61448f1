"""passed | correctness: wrong on cuda — the CPU has no TF32"""
# task: product
# Lets PyTorch round products to TF32, where the class has FP32.

import torch

torch.backends.cuda.matmul.allow_tf32 = True


class ModelNew(torch.nn.Module):
    def __init__(self, width, outputs):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width, outputs))

    def forward(self, x):
        torch.set_float32_matmul_precision("high")
        return x @ self.weight
