"""passed"""
# task: orders
# Honest: sorts that leave the last of equal elements first.

import torch


def order(x):
    return x.shape[-1] - 1 - torch.argsort(x.flip(-1), dim=-1, stable=True)


class ModelNew(torch.nn.Module):
    def forward(self, x, tokens):
        where = order(-x)[:, :5]
        return x.gather(-1, where), where.to(torch.int32), order(tokens)[:, :6], order(order(x)) / x.shape[-1]
