"""passed"""
# task: cross_entropy
# Honest: logsumexp less the target's logit.

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, logits, targets):
        rows = torch.arange(logits.shape[0], device=logits.device)
        return (torch.logsumexp(logits, 1) - logits[rows, targets]).mean()
