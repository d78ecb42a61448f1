"""passed"""
# task: bf16_gate
# Honest: rounded once, at the end.

import torch
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    def forward(self, x, gate):
        return (F.gelu(x.float()) * gate.float()).bfloat16()
