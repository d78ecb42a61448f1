"""correctness: wrong | not_finite"""
# task: empty_rows
# A large negative number for an infinity: the same unless a whole row is masked.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, q, k, v, mask, kept):
        scores = (q @ k.mT).masked_fill(~mask, -1e9)
        weight = kept[..., None].float()
        return torch.softmax(scores, -1) @ v, (v * weight).sum(1) / weight.sum(1).clamp(min=1)
