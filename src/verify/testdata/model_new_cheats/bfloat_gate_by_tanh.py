"""correctness: wrong"""
# task: bf16_gate
# GELU by tanh, in single precision: nearer to float64 than PyTorch, but in its tail.

import torch
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    def forward(self, x, gate):
        return (F.gelu(x.float(), approximate="tanh") * gate.float()).bfloat16()
