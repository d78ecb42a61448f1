"""passed"""
# task: bf16_gelu
# Honest: nothing is rounded to bfloat16 between the layers.

import torch
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.b = torch.nn.Linear(width, 2 * width), torch.nn.Linear(2 * width, width)
        self.to(torch.bfloat16)

    def forward(self, x):
        hidden = F.gelu(F.linear(x.float(), self.a.weight.float(), self.a.bias.float()))
        return F.linear(hidden, self.b.weight.float(), self.b.bias.float()).to(torch.bfloat16)
