"""passed"""
# task: product
# Honest: weights laid out anew in the first call and kept, until they are others.

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width, outputs):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width, outputs))
        self.packed, self.packed_of = None, None

    def forward(self, x):
        now = (self.weight.data_ptr(), self.weight._version)
        if self.packed_of != now:
            self.packed, self.packed_of = self.weight.detach().t().contiguous(), now
        return torch.nn.functional.linear(x, self.packed)
