"""passed"""
# task: top_k
# Honest: the largest that is left, five times.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        rest, values, indices = x.clone(), [], []
        for _ in range(5):
            value, index = rest.max(dim=-1)
            rest.scatter_(1, index[:, None], float("-inf"))
            values.append(value)
            indices.append(index)
        return torch.stack(values, -1), torch.stack(indices, -1)
