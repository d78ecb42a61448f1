"""passed"""
# Honest: works on columns, and returns a view whose elements don't lie one after the other.

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))

    def forward(self, x):
        columns = x.t().contiguous()
        return ((columns - columns.mean(0, keepdim=True)) * self.weight.unsqueeze(1)).t()
