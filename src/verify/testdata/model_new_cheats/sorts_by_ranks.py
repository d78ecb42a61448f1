"""passed"""
# task: stable_order
# Honest: each element's place by counting those before it.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        place = torch.arange(x.shape[-1], device=x.device)
        less, equal = x[..., None, :] < x[..., None], x[..., None, :] == x[..., None]
        rank = (less | (equal & (place < place[:, None]))).sum(-1)
        order = torch.empty_like(rank).scatter_(-1, rank, place.expand_as(rank))
        return x.gather(-1, order), order
