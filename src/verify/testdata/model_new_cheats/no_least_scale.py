"""correctness: wrong | not_finite"""
# task: least_scale
# No least scale.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        scale = x.abs().amax(-1, keepdim=True) / 127
        return torch.round(x / scale).to(torch.int8), scale
