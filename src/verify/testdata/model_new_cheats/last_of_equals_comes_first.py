"""correctness: wrong"""
# task: stable_order
# Random numbers are hardly ever equal.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        values, order = torch.sort(x.flip(-1), dim=-1, stable=True)
        return values, x.shape[-1] - 1 - order
