"""passed"""
# Honest: an operator of its own in PyTorch's registry, with a shape function, as libraries have it.

import torch

library = torch.library.Library("centered_rows", "DEF")
library.define("center(Tensor x, Tensor weight) -> Tensor")


def center(x, weight):
    mean = x.sum(1, keepdim=True).div_(x.shape[1])
    return torch.sub(x, mean).mul_(weight)


library.impl("center", center, "CompositeExplicitAutograd")
library.impl("center", lambda x, weight: torch.empty_like(x), "Meta")


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))

    def forward(self, x):
        return torch.ops.centered_rows.center(x, self.weight)
