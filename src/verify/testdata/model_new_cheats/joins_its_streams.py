"""passed"""
# Honest: half of the rows on a stream beside the current one, which waits for it.

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))
        self.side = torch.cuda.Stream() if torch.cuda.is_available() else None

    def part(self, x):
        return (x - x.mean(1, keepdim=True)) * self.weight

    def forward(self, x):
        half = x.shape[0] // 2
        if self.side is None or not x.is_cuda:
            return torch.cat([self.part(x[:half]), self.part(x[half:])])
        current = torch.cuda.current_stream()
        self.side.wait_stream(current)
        with torch.cuda.stream(self.side):
            second = self.part(x[half:])
        first = self.part(x[:half])
        current.wait_stream(self.side)
        second.record_stream(current)
        return torch.cat([first, second])
