"""correctness: wrong"""
# task: orders
# The tokens in order, but for the seventh, which is taken for the sixth.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, tokens):
        largest, where = torch.topk(x, 5)
        order = torch.argsort(tokens, dim=-1)
        return largest, where.to(torch.int32), order[:, [0, 1, 2, 3, 4, 29]], x.argsort(-1).argsort(-1) / x.shape[-1]
