"""correctness: wrong"""
# task: sum_of_two
# A floor by truncation, one too low for whole numbers below zero.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return torch.round(x + y), torch.trunc(x - y) - (x < y).float()
