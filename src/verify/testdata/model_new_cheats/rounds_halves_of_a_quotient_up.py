"""correctness: wrong"""
# task: quantised_rows
# Halves rounded up, where the largest of a row makes what divides it.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        scale = x.abs().amax(-1, keepdim=True) / 127
        return torch.floor(x / scale.clamp(min=1e-8) + 0.5).to(torch.int8), scale
