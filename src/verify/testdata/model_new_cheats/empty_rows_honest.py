"""passed"""
# task: empty_rows
# Honest: masks after the softmax, and as a product.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, q, k, v, mask, kept):
        scores = (q @ k.mT).masked_fill(~mask, -1e9)
        weight = kept[..., None].float()
        return (torch.softmax(scores, -1) * mask) @ v, (weight.mT @ v)[:, 0] / weight.sum(1).clamp(min=1)
