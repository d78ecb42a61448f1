"""correctness: wrong"""
# task: orders
# Where each of the largest stands, looked up by its value: equal ones stand at the same place.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x, tokens):
        largest, _ = torch.topk(x, 5)
        where = (x.unsqueeze(-2) == largest.unsqueeze(-1)).float().argmax(-1)
        order = torch.argsort(tokens, dim=-1)
        return largest, where.to(torch.int32), order[:, :6], x.argsort(-1).argsort(-1) / x.shape[-1]
