"""correctness: wrong"""
# task: probabilities
# An epsilon in place of the bound.

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def forward(self, p, t, z):
        return -(t * torch.log(p + 1e-7) + (1 - t) * torch.log(1 - p + 1e-7)).mean(), F.binary_cross_entropy_with_logits(z, t, pos_weight=torch.tensor(3.0))
