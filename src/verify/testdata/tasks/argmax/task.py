"""An index has no neighbours that are nearly right."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.argmax(x, dim=1)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(50, 300)]
