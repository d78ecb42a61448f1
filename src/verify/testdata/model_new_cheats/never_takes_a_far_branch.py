"""regions: inconclusive"""
# task: far_branch
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x * 2
