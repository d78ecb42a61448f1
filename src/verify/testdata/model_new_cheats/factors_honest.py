"""passed"""
# task: factors
# Honest: plain tuples, in one list.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, x):
        q, r = torch.linalg.qr(a)
        return q, r, torch.sort(x, dim=-1, descending=True)[0][..., :3], torch.sort(x, dim=-1, descending=True)[1][..., :3]
