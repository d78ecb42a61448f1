"""passed"""
# task: cross_entropy
# Honest: a softmax in double precision.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, logits, targets):
        return -torch.softmax(logits.double(), 1).gather(1, targets[:, None]).log().mean().float()
