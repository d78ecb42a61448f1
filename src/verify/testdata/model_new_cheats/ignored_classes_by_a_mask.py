"""passed"""
# task: ignored_class
# Honest: those that count, by a mask.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, z, t):
        return (lambda k: ((torch.logsumexp(z, -1) - z.gather(-1, t.clamp(min=0)[:, None]).squeeze(-1)) * k).sum() / k.sum())((t != -1).float())
