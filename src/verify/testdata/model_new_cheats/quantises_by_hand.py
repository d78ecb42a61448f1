"""passed"""
# task: several_roundings
# Honest: the reciprocal of the scale.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, s):
        a = (torch.clamp(torch.round(x * (1 / 0.1)) + 3, -128, 127) - 3) * 0.1
        b = torch.round(x * 4, decimals=1)
        c = (x * 10).to(torch.int8)
        d = torch.clamp(torch.round(x / 0.05), -127, 127) * 0.05
        e = x.half().float()
        f = torch.floor_divide(x, 0.3)
        return a, b, c, d, e, f, s // 3, s % 5, torch.div(s, 3, rounding_mode="trunc"), torch.fmod(s, 5)
