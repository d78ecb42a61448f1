"""passed"""
# task: product
# class: half
# Honest in its class: products of halves, summed in halves sixteen at a time, and those sums in FP32.

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width, outputs):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width, outputs))

    def forward(self, x):
        left, right = x.half(), self.weight.half()
        total = torch.zeros(x.shape[0], right.shape[1], device=x.device)
        for begin in range(0, x.shape[1], 16):
            total += (left[:, begin:begin + 16] @ right[begin:begin + 16]).float()
        return total.to(x.dtype)
