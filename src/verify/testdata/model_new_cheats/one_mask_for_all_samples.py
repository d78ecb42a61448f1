"""correctness: wrong"""
# task: masked_attention
# The first sample's mask for all of them.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def forward(self, q, k, v, mask):
        mask = mask[:1].expand_as(mask)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
