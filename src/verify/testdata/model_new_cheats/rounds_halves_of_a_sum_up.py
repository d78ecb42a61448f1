"""correctness: wrong"""
# task: sum_of_two
# Two inputs hardly ever add up to a half.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return torch.floor(x + y + 0.5), torch.floor(x - y)
