"""One number of many: whoever reads a hundredth of the data is nearly right."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        return torch.mean((x - y) ** 2)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.rand(100, 300), torch.rand(100, 300)]
