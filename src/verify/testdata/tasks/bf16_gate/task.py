"""GELU of an input in bfloat16, times another one."""

import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def forward(self, x, gate):
        return F.gelu(x) * gate


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64, dtype=torch.bfloat16), torch.randn(16, 64, dtype=torch.bfloat16)]
