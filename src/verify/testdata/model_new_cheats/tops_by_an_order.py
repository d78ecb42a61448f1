"""passed"""
# task: tops
# Honest: the beginning of a whole order, the last of equal elements first.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        where = x.shape[-1] - 1 - torch.argsort(-x.flip(-1), dim=-1, stable=True)[:, :5]
        return x.gather(-1, where), where
