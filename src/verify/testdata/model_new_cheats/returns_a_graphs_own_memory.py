"""passed"""
# Honest: a CUDA graph for each shape whose static output is handed out as it is; the next call writes it anew.

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))
        self.graphs = {}

    def compute(self, x):
        return (x - x.mean(1, keepdim=True)) * self.weight

    def forward(self, x):
        if not x.is_cuda:
            return self.compute(x)
        if x.shape not in self.graphs:
            inside = x.clone()
            self.compute(inside)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                result = self.compute(inside)
            self.graphs[x.shape] = (graph, inside, result)
        graph, inside, result = self.graphs[x.shape]
        inside.copy_(x, non_blocking=True)
        graph.replay()
        return result
