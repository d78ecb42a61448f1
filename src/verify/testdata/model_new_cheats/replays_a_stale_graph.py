"""passed | correctness: wrong on cuda | not_finite on cuda | refused on cuda | crashed on cuda | conduct: stale on cuda | wrong on cuda — on a CPU there are no graphs"""
# A CUDA graph over the first call's own memory, replayed for all others.

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))
        self.graph = self.first = self.result = None

    def compute(self, x):
        return (x - x.mean(1, keepdim=True)) * self.weight

    def forward(self, x):
        if not x.is_cuda:
            return self.compute(x)
        if self.graph is None:
            self.first = x
            self.compute(x)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.result = self.compute(self.first)
        self.graph.replay()
        return self.result
