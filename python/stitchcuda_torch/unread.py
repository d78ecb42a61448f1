"""Functions of PyTorch that read values where a program needs only shapes, replaced while a model is exported.

bincount's result is as long as its largest element asks for, but at least `minlength`: our operator is exactly that long,
and the import refuses it unless it sees that no element is larger. quantile reads q to see that it lies within [0, 1].
"""

import torch
from torch.overrides import TorchFunctionMode

from .known import UNKNOWN, KnownValues

_library = torch.library.Library("stitchcuda", "FRAGMENT")
_library.define("bincount(Tensor self, Tensor? weights, int minlength) -> Tensor")


def _counts(self, weights, minlength):
    return torch.bincount(self, weights, minlength)


def _counts_shape(self, weights, minlength):
    real = weights is not None and weights.dtype != torch.float32
    return self.new_empty((minlength,), dtype=torch.int64 if weights is None else torch.float64 if real else torch.float32)


_library.impl("bincount", _counts, "CompositeExplicitAutograd")
torch.library.register_fake("stitchcuda::bincount", _counts_shape, lib=_library)


def bincount(input, weights=None, minlength=0):
    if minlength <= 0:  # as long as the data asks for: refused by torch.export
        return torch.bincount(input, weights, minlength)
    return torch.ops.stitchcuda.bincount(input, weights, minlength)


def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear", skip_nan=False):
    q = torch.as_tensor(q, dtype=input.dtype, device=input.device) if not isinstance(q, torch.Tensor) else q
    if input.dim() == 0 or dim is None:
        x, kept = input.flatten(), [1] * input.dim()
    else:
        x = input.movedim(dim, -1)
        kept = [1 if axis == dim % input.dim() else size for axis, size in enumerate(input.shape)]
    x = x.sort(-1).values
    last, nan = x.shape[-1] - 1, x.isnan()
    rank = q.reshape(-1)  # (Q) beside (…, N)
    if skip_nan:
        rank = rank * ((~nan).sum(-1, keepdim=True) - 1).clamp(min=0)
    else:
        rank = torch.where(nan.any(-1, keepdim=True), last, rank * last)
    rounded = {"lower": torch.floor, "higher": torch.ceil, "nearest": torch.round}.get(interpolation)
    below = (rounded or torch.floor)(rank)
    y = x.gather(-1, below.long())
    if not rounded:
        share = torch.full_like(rank, 0.5) if interpolation == "midpoint" else rank - below
        y = torch.lerp(y, x.gather(-1, rank.ceil().long()), share)
    y = y.movedim(-1, 0)
    shape = kept if keepdim else list(y.shape[1:])
    return y.reshape([*q.shape, *shape])


REPLACED = {torch.bincount: bincount, torch.Tensor.bincount: bincount, torch.quantile: quantile, torch.Tensor.quantile: quantile,
            torch.nanquantile: lambda *rest, **more: quantile(*rest, **more, skip_nan=True)}
REPLACED[torch.Tensor.nanquantile] = REPLACED[torch.nanquantile]


class Unread(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.known = KnownValues()

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        keywords = keywords or {}
        result = self.known.result(function, arguments, keywords)
        if result is not UNKNOWN:
            return result
        result = REPLACED.get(function, function)(*arguments, **keywords)
        self.known.note(function, arguments, keywords, result)
        return result
