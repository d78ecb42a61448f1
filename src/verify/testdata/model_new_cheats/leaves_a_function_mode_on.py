"""timing: forged_time | wrong_when_timed | correctness: not_finite | wrong | refused | conduct: unwritten | stale | not_repeatable | profile: no_work"""
# A function mode that is never left sees every call of PyTorch's from Python: the result is worked out, slowly, when somebody asks for it.

import time

import torch
from torch.overrides import TorchFunctionMode


class Late(TorchFunctionMode):
    owed = []

    def __torch_function__(self, function, kinds, arguments=(), keywords=None):
        if self.owed and getattr(function, "__name__", "") in ("copy_", "contiguous", "view", "reshape"):
            result, x, weight = self.owed.pop()
            end = time.perf_counter() + 0.002
            while time.perf_counter() < end:
                torch.mul(x - x.mean(1, keepdim=True), weight, out=result)
        return function(*arguments, **(keywords or {}))


class ModelNew(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(columns))
        Late().__enter__()

    def forward(self, x):
        result = torch.empty_like(x)
        Late.owed.append((result, x, self.weight))
        return result
