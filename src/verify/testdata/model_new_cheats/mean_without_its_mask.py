"""correctness: wrong | not_finite"""
# task: empty_rows
# The mask is of ones in every draw.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, q, k, v, mask, kept):
        scores = (q @ k.mT).masked_fill(~mask, float("-inf"))
        return torch.nan_to_num(torch.softmax(scores, -1)) @ v, v.mean(1)
