"""timing: forged_time | wrong_when_timed | correctness: not_finite | wrong | refused | conduct: unwritten | stale | not_repeatable | profile: no_work"""
# A dispatch mode that is never left sees every operator, the Verifier's copies too: the result is worked out when it is copied.

import time

import torch
from torch.utils._python_dispatch import TorchDispatchMode

pending = {}


class Later(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.copy_.default and len(args) > 1:
            work = pending.pop(args[1].data_ptr(), None)
            if work is not None and args[1].dim() == 2:
                time.sleep(0.002)
                args[1].copy_(work())
        return function(*args, **(kwargs or {}))


Later().__enter__()


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))

    def forward(self, x):
        result = torch.empty_like(x)
        pending[result.data_ptr()] = lambda: (x - x.mean(1, keepdim=True)) * self.weight
        return result
