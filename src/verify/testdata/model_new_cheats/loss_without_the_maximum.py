"""correctness: not_finite"""
# task: cross_entropy
# The logarithm of a sum of exponentials that overflow.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, logits, targets):
        return (logits.exp().sum(1).log() - logits.gather(1, targets[:, None])[:, 0]).mean()
