"""In which arithmetic PyTorch does a convolution: cuDNN may multiply in TF32 and often doesn't, by rules of its own."""

import torch

from . import numerics
from .turns import Turns

TF32 = 2e-5  # relative error: FP32's sums stay under 1e-6, TF32 has 3e-4
LARGE = 4 << 30  # bytes: too large to allocate for this test


def are_tf32(convolutions, device, class_name="default", turns=Turns()):
    """True, False, or None where it could not be seen, for each."""
    found = []
    with torch.no_grad(), numerics.pinned(class_name, device):
        for convolution in convolutions:
            found.append(is_tf32(convolution, device))
            turns.pause()
    return found


def is_tf32(convolution, device):
    """By the first sample's error on normal inputs; which kernel runs depends on the whole shape."""
    x_shape, weight_shape = convolution["x"], convolution["weight"]
    if 4 * torch.Size(x_shape).numel() > LARGE:
        return None
    generator = torch.Generator(device).manual_seed(0)
    try:
        x = torch.randn(x_shape, generator=generator, device=device)
        weight = torch.randn(weight_shape, generator=generator, device=device)
        result = convolve(convolution, x, weight)[:1].double()
        truth = convolve(convolution, x[:1].double(), weight.double())
        return bool((result - truth).norm() > TF32 * truth.norm())
    except (RuntimeError, torch.OutOfMemoryError):  # no room, or no such kernel
        return None


def convolve(convolution, x, weight):
    padding, groups = convolution["padding"], convolution["groups"]
    transposed, more = convolution["transposed"], convolution.get("output_padding") or [0] * len(padding)
    return torch.convolution(x, weight, None, convolution["stride"], padding, convolution["dilation"], transposed, more, groups)
