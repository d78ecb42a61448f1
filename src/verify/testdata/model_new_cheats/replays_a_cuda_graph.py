"""passed"""
# Honest: a CUDA graph over static memory, inputs copied in and results copied out; on a CPU without the graph.

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))
        self.graph = self.static_input = self.static_output = None

    def compute(self, x):
        return (x - x.mean(1, keepdim=True)) * self.weight

    def capture(self, x):
        self.static_input = x.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.compute(self.static_input)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.static_output = self.compute(self.static_input)

    def forward(self, x):
        if not x.is_cuda:
            return self.compute(x)
        if self.graph is None or self.static_input.shape != x.shape:
            self.capture(x)
        self.static_input.copy_(x)
        self.graph.replay()
        return self.static_output.clone()
