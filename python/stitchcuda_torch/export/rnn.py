"""Keeps nn.LSTM, nn.GRU and nn.RNN one node while a model is exported.

PyTorch's own lstm steps fake tensors through every cell: 16-41 s for 512 steps (measured on KernelBench's Level 3).
While `opaque()` is active those modules call operators of ours instead, which only know the shapes; record.py writes
them down under PyTorch's names.
"""

import contextlib

import torch
from torch.overrides import TorchFunctionMode

from . import packed

NAMES = ("lstm", "gru", "rnn_tanh", "rnn_relu")
_library = torch.library.Library("stitchcuda", "FRAGMENT")


def _define(name):
    state, results = ("Tensor[] hx", "(Tensor, Tensor, Tensor)") if name == "lstm" else ("Tensor hx", "(Tensor, Tensor)")
    _library.define(
        f"{name}(Tensor input, {state}, Tensor[] params, bool has_biases, int num_layers, float dropout, "
        f"bool train, bool bidirectional, bool batch_first) -> {results}"
    )
    torch.library.register_fake(f"stitchcuda::{name}", _shapes, lib=_library)
    _library.impl(name, getattr(torch._VF, name), "CompositeExplicitAutograd")  # an exported program can be run, too


def _shapes(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    states = list(hx) if isinstance(hx, (list, tuple)) else [hx]
    width = states[0].shape[-1] * (2 if bidirectional else 1)  # of the output: proj_size, when there is one
    if batch_first:  # computed time-major, then transposed: PyTorch's strides
        output = input.new_empty(input.shape[1], input.shape[0], width).transpose(0, 1)
    else:
        output = input.new_empty(*input.shape[:-1], width)
    return (output, *(torch.empty_like(state, memory_format=torch.contiguous_format) for state in states))


for _name in NAMES:
    _define(_name)


class _Functions:
    """Stands in for torch._VF inside torch.nn.modules.rnn; cells go to the original."""

    def __init__(self, original):
        self._original = original

    def __getattr__(self, name):
        function = getattr(self._original, name)
        if name not in NAMES:
            return function

        def call(input, hx, *rest):
            if isinstance(hx, packed.Lengths):  # packed sequences pass their batch sizes second
                return packed.recurrence(name, input, hx, *rest)
            if input.dim() != 3 or len(rest) != 7 or not isinstance(rest[1], bool):
                return function(input, hx, *rest)
            return getattr(torch.ops.stitchcuda, name)(input, hx, *rest)

        return call


@contextlib.contextmanager
def opaque():
    module = torch.nn.modules.rnn
    original = module._VF
    module._VF = _Functions(original)
    try:
        with packed.as_padded():
            yield
    finally:
        module._VF = original


class StepByStep(TorchFunctionMode):
    """RNNs as products and activations instead of oneDNN's one operator, which can't be looked into, and which PyTorch
    also takes for fp16 on CPUs where it has no such LSTM."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if getattr(function, "__name__", "") not in NAMES:
            return function(*args, **(kwargs or {}))
        one_operator = torch._C._get_mkldnn_enabled()
        torch._C._set_mkldnn_enabled(False)
        try:
            return self.call(function, args, kwargs or {})
        finally:
            torch._C._set_mkldnn_enabled(one_operator)

    def call(self, function, args, kwargs):
        return function(*args, **kwargs)
