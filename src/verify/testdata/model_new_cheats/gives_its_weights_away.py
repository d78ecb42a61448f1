"""conduct: wrong | correctness: wrong"""
# What is found by the parameter's name is new memory each time: what is copied there is lost, and the constructor's weights stay.

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.own = torch.nn.Parameter(torch.randn(width))

    @property
    def weight(self):
        return self.own.detach().clone()

    def forward(self, x):
        return (x - x.mean(1, keepdim=True)) * self.own
