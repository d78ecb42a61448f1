"""Eight-bit floats while a model is exported: their values are kept as fp16, which holds each of them exactly.

A conversion to them rounds as PyTorch's does, by exact arithmetic: to the nearest multiple of the last bit's value, halves to even;
what is too large becomes NaN (e4m3fn) or infinite (e5m2). Bytes that are read as such floats are looked up.
"""

import torch

from .known import UNKNOWN

# dtype: (mantissa bits, smallest and largest exponent, largest value)
FORMATS = {torch.float8_e4m3fn: (3, -6, 8, 448.0), torch.float8_e5m2: (2, -14, 15, 57344.0)}
VALUES = {dtype: torch.arange(256, dtype=torch.uint8).view(dtype).to(torch.float16) for dtype in FORMATS}  # of all bytes
CONVERSIONS = {torch.Tensor.to, torch.Tensor.type}


def result(function, arguments, keywords):
    """What stands for the call; UNKNOWN where it makes no eight-bit floats."""
    if function is not torch.Tensor.view and function not in CONVERSIONS:
        return UNKNOWN
    dtype = next((word for word in (*arguments[1:], *keywords.values()) if isinstance(word, torch.dtype) and word in FORMATS), None)
    if dtype is None:
        return UNKNOWN
    return VALUES[dtype][arguments[0].long()] if function is torch.Tensor.view else rounded(arguments[0], dtype)


def rounded(x, dtype):
    mantissa, smallest, largest, most = FORMATS[dtype]
    x = x if x.dtype == torch.float64 else x.float()
    size = x.abs()
    step = torch.full_like(x, 2.0 ** (smallest - mantissa))
    for exponent in range(smallest + 1, largest + 1):
        step = torch.where(size >= 2.0**exponent, 2.0 ** (exponent - mantissa), step)
    y = (x / step).round() * step
    beyond = float("nan") if dtype == torch.float8_e4m3fn else y * float("inf")
    return torch.where(y.abs() > most, beyond, y).to(torch.float16)
