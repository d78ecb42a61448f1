"""TF32 on a machine without it: operands of convolutions, RNNs and products rounded to ten bits of mantissa.

A program for the emulated GPU may round where PyTorch on a GPU would; this shows how large an error that may cause.
"""

import contextlib

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

from ..export import rnn
from ..export.below_autograd import attention_written_out

aten = torch.ops.aten
CONVOLUTIONS = {aten.convolution: (0, 1), aten._convolution: (0, 1), aten.convolution_overrideable: (0, 1)}
PRODUCTS = {aten.mm: (0, 1), aten.bmm: (0, 1), aten.linear: (0, 1), aten.addmm: (1, 2), aten.baddbmm: (1, 2), aten.addbmm: (1, 2)}


def round_to_tf32(x):
    """To nearest, ties to even; infinities and NaNs stay."""
    bits = x.contiguous().view(torch.int32)
    rounded = ((bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF).view(torch.float32)
    return torch.where(x.isfinite(), rounded, x)


class RoundOperands(TorchDispatchMode):
    def __init__(self, products):
        super().__init__()
        self.products = products  # whether matrix products round, too; those of an RNN always do
        self.inside_rnn = False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        positions = CONVOLUTIONS.get(function.overloadpacket, ())
        if self.products or self.inside_rnn:
            positions = positions or PRODUCTS.get(function.overloadpacket, ())
        args = [round_operand(a) if i in positions else a for i, a in enumerate(args)]
        return function(*args, **(kwargs or {}))


def round_operand(value):
    return round_to_tf32(value) if isinstance(value, torch.Tensor) and value.dtype == torch.float32 else value


class RoundInRnn(rnn.StepByStep):
    """cuDNN's RNNs follow the flag of the convolutions; here the products of each step round."""

    def __init__(self, operands):
        super().__init__()
        self.operands = operands

    def call(self, function, args, kwargs):
        self.operands.inside_rnn = True
        try:
            return function(*args, **kwargs)
        finally:
            self.operands.inside_rnn = False


@contextlib.contextmanager
def emulated(products):
    fast_path = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    operands = RoundOperands(products)
    try:
        with torch.compiler.set_stance("force_eager"), attention_written_out(), sdpa_kernel(SDPBackend.MATH), RoundInRnn(operands), operands:
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast_path)
