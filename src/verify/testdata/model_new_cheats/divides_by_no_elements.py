"""correctness: wrong | not_finite"""
# task: empty_rows
# A mean over nothing.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, q, k, v, mask, kept):
        scores = (q @ k.mT).masked_fill(~mask, float("-inf"))
        weight = kept[..., None].float()
        return torch.nan_to_num(torch.softmax(scores, -1)) @ v, (v * weight).sum(1) / weight.sum(1)
