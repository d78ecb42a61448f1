"""correctness: wrong"""
# task: least_scale
# Another least scale, a thousand times as large.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        scale = x.abs().amax(-1, keepdim=True).clamp(min=1e-5) / 127
        return torch.round(x / scale).to(torch.int8), scale
