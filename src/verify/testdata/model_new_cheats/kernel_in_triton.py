"""passed"""
# Honest: a Triton kernel, where there is a GPU and Triton.

import torch

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

if triton is not None:

    @triton.jit
    def center_rows(x, weight, y, columns, block: tl.constexpr):
        row, lanes = tl.program_id(0), tl.arange(0, block)
        inside = lanes < columns
        values = tl.load(x + row * columns + lanes, mask=inside, other=0.0)
        mean = tl.sum(values, axis=0) / columns
        tl.store(y + row * columns + lanes, (values - mean) * tl.load(weight + lanes, mask=inside, other=0.0), mask=inside)


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))

    def forward(self, x):
        if triton is None or not x.is_cuda:
            return (x - x.mean(1, keepdim=True)) * self.weight
        x, y = x.contiguous(), torch.empty_like(x)
        center_rows[(x.shape[0],)](x, self.weight, y, x.shape[1], block=triton.next_power_of_2(x.shape[1]))
        return y
