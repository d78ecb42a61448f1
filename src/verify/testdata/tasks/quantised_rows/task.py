"""Rows in eight bits, by their largest: a quotient is hardly ever a half."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        scale = x.abs().amax(-1, keepdim=True) / 127
        quantised = torch.round(x / scale.clamp(min=1e-8)).to(torch.int8)
        return quantised, scale


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(8, 24)]
