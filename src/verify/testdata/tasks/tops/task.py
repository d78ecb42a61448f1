"""The five largest of each row and where they stand; no two are equal in what the task draws."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.topk(x, 5)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(12, 40)]
