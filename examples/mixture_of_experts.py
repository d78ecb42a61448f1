"""A mixture of experts: the router picks two per token, and a dense table of weights combines all of them."""
import math

import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def __init__(self, size, hidden, experts, chosen):
        super().__init__()
        self.chosen = chosen
        self.router = nn.Linear(size, experts, bias=False)
        self.gate = nn.Parameter(torch.randn(experts, size, hidden) / math.sqrt(size))
        self.up = nn.Parameter(torch.randn(experts, size, hidden) / math.sqrt(size))
        self.down = nn.Parameter(torch.randn(experts, hidden, size) / math.sqrt(hidden))

    def forward(self, x):  # (batch, time, size)
        tokens = x.view(-1, x.size(-1))
        scores = F.softmax(self.router(tokens), dim=-1)
        weight, index = torch.topk(scores, self.chosen, dim=-1)
        weight = weight / weight.sum(dim=-1, keepdim=True)
        # Static shapes: experts that were not chosen compute too, and get weight zero.
        dense = torch.zeros_like(scores).scatter(1, index, weight)  # (tokens, experts)
        hidden = F.silu(torch.einsum("td,edh->teh", tokens, self.gate)) * torch.einsum("td,edh->teh", tokens, self.up)
        output = torch.einsum("teh,ehd,te->td", hidden, self.down, dense)
        return output.view_as(x), scores.mean(dim=0)


batch = 2
time = 9
size = 24
hidden = 32
experts = 6
chosen = 2


def get_init_inputs():
    return [size, hidden, experts, chosen]


def get_inputs():
    return [torch.randn(batch, time, size)]
