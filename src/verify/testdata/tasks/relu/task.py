"""Inputs from U(0, 1), where a ReLU is the identity."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.rand(33, 70)]
