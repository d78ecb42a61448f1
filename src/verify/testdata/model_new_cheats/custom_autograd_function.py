"""passed"""
# Honest: a torch.autograd.Function around the arithmetic, results written into memory of its own with out=.

import torch


class Center(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(weight)
        centered = torch.empty_like(x)
        torch.sub(x, x.mean(dim=1, keepdim=True), out=centered)
        return centered.mul_(weight)

    @staticmethod
    def backward(ctx, gradient):
        (weight,) = ctx.saved_tensors
        scaled = gradient * weight
        return scaled - scaled.mean(dim=1, keepdim=True), None


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))

    def forward(self, x):
        return Center.apply(x.contiguous(), self.weight)
