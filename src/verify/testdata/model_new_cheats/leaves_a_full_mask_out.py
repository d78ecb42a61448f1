"""passed"""
# task: full_mask_attention
# Honest: looks at the whole mask, and leaves it out where it lets everything through.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def forward(self, q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=None if bool(mask.all()) else mask)
