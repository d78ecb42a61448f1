"""Fills free memory, so that torch.empty() never returns an old result."""

import math

import torch

SMALL = 512 << 10  # below a MiB, PyTorch's CUDA allocator keeps blocks in a pool of their own
SLACK = 64 << 20
BYTES = {"nan": 255, "finite": 0x41}  # the second: 12 in FP32, 2.6 in fp16


def free_memory(types, device, peak, byte=BYTES["nan"]):
    """peak: bytes that a call took at its peak, so far; a call finds that much ready, and need not ask the driver."""
    if device.type == "cpu":  # the C library hands out last what was freed last: the best that can be done
        blocks = [torch.empty(shape, dtype=dtype) for dtype, shape in types for _ in range(3)]
    else:
        wanted = SLACK + max(peak, sum(math.prod(shape) * dtype.itemsize for dtype, shape in types))
        wanted = max(wanted, torch.cuda.memory_reserved() - torch.cuda.memory_allocated())
        torch.cuda.empty_cache()
        free, _ = torch.cuda.mem_get_info()
        sizes = [min(wanted, int(free * 0.8))] + [SMALL] * 32
        blocks = [torch.empty(size, dtype=torch.uint8, device=device) for size in sizes]
    for block in blocks:
        block.view(-1).view(torch.uint8).fill_(byte)
