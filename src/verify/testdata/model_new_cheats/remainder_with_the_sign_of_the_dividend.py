"""correctness: wrong"""
# task: several_roundings
# Of integers, which the task never draws below zero.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, s):
        a = torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -128, 127)
        b = torch.round(x * 4, decimals=1)
        c = (x * 10).to(torch.int8)
        d = torch.clamp(torch.round(x / 0.05), -127, 127) * 0.05
        e = x.half().float()
        f = torch.floor_divide(x, 0.3)
        return a, b, c, d, e, f, s // 3, torch.fmod(s, 5), torch.div(s, 3, rounding_mode="trunc"), torch.fmod(s, 5)
