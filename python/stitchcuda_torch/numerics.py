"""The numerics classes as PyTorch's switches: each set both ways, whatever a task did to them."""

import contextlib

import torch

from . import rnn, tf32

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


@contextlib.contextmanager
def reduced(numerics, device, half):
    with contextlib.ExitStack() as stack:
        if numerics == "half":
            # No cache: a captured graph would go on reading weights that end with it.
            stack.enter_context(torch.autocast(device.type, dtype=HALF[half], cache_enabled=False))
        if device.type == "cpu":
            rounds = numerics in ("default", "tf32")
            stack.enter_context(tf32.emulated(products=numerics == "tf32") if rounds else rnn.StepByStep())
        yield
