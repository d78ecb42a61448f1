"""The numerics classes as PyTorch's switches: each set both ways, whatever a task did to them."""

import contextlib

import torch

from . import tf32

CLASSES = ("strict", "default", "tf32", "half")
HALF = {"fp16": torch.float16, "bf16": torch.bfloat16}


@contextlib.contextmanager
def pinned(numerics, device, half="fp16"):
    """Inside, PyTorch computes in this class; afterwards its defaults are back."""
    set_flags(numerics, device)
    try:
        with reduced(numerics, device, half):
            yield
    finally:
        set_flags("default", device)


def set_flags(numerics, device):
    products = numerics == "tf32" and device.type == "cuda"
    torch.set_float32_matmul_precision("high" if products else "highest")
    torch.backends.cuda.matmul.allow_tf32 = products
    torch.backends.cudnn.allow_tf32 = numerics != "strict"
    torch.backends.cudnn.enabled = True
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = False


def reduced(numerics, device, half):
    if numerics == "half":
        # No cache: a captured graph would go on reading weights that end with it.
        return torch.autocast(device.type, dtype=HALF[half], cache_enabled=False)
    if device.type == "cpu" and numerics in ("default", "tf32"):
        return tf32.emulated(products=numerics == "tf32")
    return contextlib.nullcontext()
