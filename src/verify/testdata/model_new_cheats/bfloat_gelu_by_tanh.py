"""correctness: wrong"""
# task: bf16_gelu
# GELU by tanh, less than bfloat16 rounds but in its tail.

import torch
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.b = torch.nn.Linear(width, 2 * width), torch.nn.Linear(2 * width, width)
        self.to(torch.bfloat16)

    def forward(self, x):
        return self.b(F.gelu(self.a(x), approximate="tanh"))
