"""The numerics classes as PyTorch's switches: each set both ways, whatever a task did to them."""

import contextlib

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

from ..device.gpu_lock import HELD
from ..export import rnn
from ..export.below_autograd import attention_written_out
from ..export.replaced import without_fast_path

CLASSES = ("strict", "default", "tf32", "half")
TF32 = 2e-5  # relative error: FP32's sums stay under 1e-6, TF32 has 3e-4
LARGE = 4 << 30  # bytes: too large to allocate for this test


@contextlib.contextmanager
def pinned(numerics, device):
    """Inside, PyTorch computes in this class; afterwards its defaults are back."""
    set_flags(numerics, device)
    try:
        with reduced(numerics, device):
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
def reduced(numerics, device):
    with contextlib.ExitStack() as stack:
        if numerics == "half":
            # No cache: a captured graph would go on reading weights that end with it.
            stack.enter_context(torch.autocast(device.type, dtype=torch.float16, cache_enabled=False))
        if device.type == "cpu":
            rounds = numerics in ("default", "tf32")
            stack.enter_context(emulated(products=numerics == "tf32") if rounds else rnn.StepByStep())
        yield


def are_tf32(convolutions, device, class_name="default", lock=HELD):
    """True, False, or None where it could not be seen, for each."""
    found = []
    with torch.no_grad(), pinned(class_name, device):
        for convolution in convolutions:
            found.append(is_tf32(convolution, device))
            lock.make_way()
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


aten = torch.ops.aten
CONVOLUTIONS = {aten.convolution: (0, 1), aten._convolution: (0, 1), aten.convolution_overrideable: (0, 1)}
PRODUCTS = {aten.mm: (0, 1), aten.bmm: (0, 1), aten.linear: (0, 1), aten.addmm: (1, 2), aten.baddbmm: (1, 2), aten.addbmm: (1, 2)}


def round_to_tf32(x):
    """To nearest, ties to even; infinities and NaNs stay."""
    bits = x.contiguous().view(torch.int32)
    rounded = ((bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF).view(torch.float32)
    return torch.where(x.isfinite(), rounded, x)


class RoundOperands(TorchDispatchMode):
    """TF32 on a machine without it: operands of convolutions, RNNs and products rounded to ten bits of mantissa. A program for the
    emulated GPU may round where PyTorch on a GPU would; this shows how large an error that may cause."""

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
    operands = RoundOperands(products)
    with without_fast_path(), torch.compiler.set_stance("force_eager"), attention_written_out(), sdpa_kernel(SDPBackend.MATH):
        with RoundInRnn(operands), operands:
            yield
