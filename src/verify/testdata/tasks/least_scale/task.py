"""Quantisation by each row's largest, of which a row has to have some."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        scale = x.abs().amax(-1, keepdim=True).clamp(min=1e-8) / 127
        return torch.round(x / scale).to(torch.int8), scale


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(32, 40)]
