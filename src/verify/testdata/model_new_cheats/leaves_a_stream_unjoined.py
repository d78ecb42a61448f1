"""passed | timing: wrong_when_timed on cuda | correctness: wrong on cuda | not_finite on cuda | conduct: stale on cuda | not_repeatable on cuda | unwritten on cuda — on a CPU there are no streams"""
# Works on a stream beside the current one, which nobody waits for.

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))
        self.side = torch.cuda.Stream() if torch.cuda.is_available() else None

    def forward(self, x):
        if not x.is_cuda:
            return (x - x.mean(1, keepdim=True)) * self.weight
        result = torch.empty_like(x)
        with torch.cuda.stream(self.side):
            torch.cuda._sleep(400_000)
            torch.mul(x - x.mean(1, keepdim=True), self.weight, out=result)
        return result
