"""passed"""
# Honest: a CUDA graph for every address that inputs come at, captured when it is first seen. The result is a copy.

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
        key = (x.data_ptr(), tuple(x.shape), tuple(x.stride()))
        if key not in self.graphs:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self.compute(x)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                result = self.compute(x)
            self.graphs[key] = graph, result
        graph, result = self.graphs[key]
        graph.replay()
        return result.clone()
