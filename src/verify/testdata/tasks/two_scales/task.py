"""Large numbers and small ones side by side: beside the large ones the small ones are nothing."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.cat([x * 1e4, torch.softmax(x, dim=1)], dim=1)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.rand(24, 40)]
