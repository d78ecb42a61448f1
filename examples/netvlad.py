"""NetVLAD with ghost clusters: soft assignment of features to clusters, then normalised residual sums."""
import math

import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def __init__(self, clusters, ghosts, size):
        super().__init__()
        scale = 1 / math.sqrt(size)
        self.clusters = clusters
        self.assignment = nn.Parameter(scale * torch.randn(size, clusters + ghosts))
        self.norm = nn.BatchNorm1d(clusters + ghosts)
        self.centers = nn.Parameter(scale * torch.randn(1, size, clusters))

    def forward(self, x):  # (batch, features, size)
        batch, features, size = x.shape
        scores = self.norm(torch.matmul(x.view(-1, size), self.assignment))
        weight = F.softmax(scores, dim=1)[:, : self.clusters]  # ghosts take their share and are dropped
        weight = weight.view(batch, features, self.clusters)
        offset = torch.sum(weight, dim=1, keepdim=True) * self.centers  # (batch, size, clusters)
        vlad = torch.matmul(weight.transpose(1, 2), x).transpose(1, 2) - offset
        vlad = F.normalize(vlad)
        return F.normalize(vlad.reshape(batch, size * self.clusters))


batch = 4
features = 19
size = 24
clusters = 6
ghosts = 2


def get_init_inputs():
    return [clusters, ghosts, size]


def get_inputs():
    return [torch.rand(batch, features, size)]
