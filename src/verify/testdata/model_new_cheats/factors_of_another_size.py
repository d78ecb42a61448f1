"""correctness: wrong"""
# task: factors
# The product is right, the factors are not orthogonal.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, x):
        q, r = torch.linalg.qr(a)
        return 2 * q, r / 2, torch.sort(x, dim=-1, descending=True)[0][..., :3], torch.sort(x, dim=-1, descending=True)[1][..., :3]
