"""correctness: wrong | not_finite"""
# task: empty_rows
# No draw masks a whole row.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, q, k, v, mask, kept):
        scores = (q @ k.mT).masked_fill(~mask, float("-inf"))
        weight = kept[..., None].float()
        return torch.softmax(scores, -1) @ v, (v * weight).sum(1) / weight.sum(1).clamp(min=1)
