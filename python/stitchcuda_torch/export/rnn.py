"""Keeps nn.LSTM, nn.GRU and nn.RNN one node while a model is exported.

PyTorch's own lstm steps fake tensors through every cell: 16-41 s for 512 steps (measured on KernelBench's Level 3).
While `opaque()` is active those modules call operators of ours instead, which only know the shapes; record.py writes
them down under PyTorch's names.

Packed sequences are exported as padded ones with their lengths. What pack_padded_sequence makes is as long as all sequences together, which
depends on values. A recurrence over packed sequences is one over padded ones whose results behind a sequence's end are not read; backwards
it begins at each sequence's own end.
"""

import contextlib

import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from ..base.errors import TaskError
from .replaced import replaced

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
    """Stands in for torch._VF, which has all but ours."""

    def __init__(self, **ours):
        vars(self).update(ours)

    def __getattr__(self, name):
        return getattr(torch._VF, name)


def _opaque(name):
    def call(input, hx, *rest):
        if isinstance(hx, Lengths):  # packed sequences pass their batch sizes second
            return recurrence(name, input, hx, *rest)
        if input.dim() != 3 or len(rest) != 7 or not isinstance(rest[1], bool):
            return getattr(torch._VF, name)(input, hx, *rest)
        return getattr(torch.ops.stitchcuda, name)(input, hx, *rest)

    return call


@contextlib.contextmanager
def opaque():
    recurrences = _Functions(**{name: _opaque(name) for name in NAMES})
    packing = _Functions(_pack_padded_sequence=pack, _pad_packed_sequence=pad)
    with replaced(torch.nn.modules.rnn, "_VF", recurrences), replaced(torch.nn.utils.rnn, "_VF", packing):
        yield


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


TOTAL_LENGTH_FIX = "Pass total_length: pad_packed_sequence(packed, batch_first=…, total_length=x.size(1)), as long as the padded input."


class Lengths:
    """Stands in for the batch sizes of a PackedSequence. Its data is (steps * batch, features), padded."""

    device = torch.device("cpu")

    def __init__(self, lengths, steps, batch):
        self.lengths, self.steps, self.batch = lengths, steps, batch

    def __getitem__(self, step):  # the first is how nn.LSTM learns of the batch
        return self.batch

    def size(self, dim):
        return 0  # so that pad() can tell whether total_length was given

    def shaped(self, data):
        return data.reshape(self.steps, self.batch, -1)

    def inside(self):
        return torch.arange(self.steps)[:, None] < self.lengths  # (steps, batch)

    def reversed(self, x):
        """Every sequence by itself, from its end to its beginning; what lies behind stays."""
        step = torch.arange(self.steps)[:, None]
        place = torch.where(self.inside(), self.lengths - 1 - step, step)
        return x.gather(0, place[:, :, None].expand(x.shape))

    def last(self, x):
        return x.gather(0, (self.lengths - 1).clamp(min=0)[None, :, None].expand(1, *x.shape[1:]))


def pack(input, lengths, batch_first):
    x = input.transpose(0, 1) if batch_first else input
    steps, batch = x.shape[:2]
    return x.reshape(steps * batch, *x.shape[2:]), Lengths(lengths, steps, batch)


def pad(data, sizes, batch_first, padding_value, total_length):
    total_length = total_length or longest(sizes)
    x = torch.where(sizes.inside()[:, :, None], sizes.shaped(data), padding_value)
    x = F.pad(x, (0, 0, 0, 0, 0, total_length - sizes.steps), value=padding_value)
    return x.transpose(0, 1) if batch_first else x, sizes.lengths


def longest(sizes):
    try:
        return int(sizes.lengths.max())  # of lengths that are known (known.py)
    except Exception as error:
        raise TaskError("data_dependent", "pad_packed_sequence gives a size that depends on the longest sequence", "", TOTAL_LENGTH_FIX) from error


def recurrence(name, data, sizes, hx, weights, has_biases, layers, dropout, train, bidirectional):
    """What torch._VF.lstm and its kin return for packed data."""
    x, lstm = sizes.shaped(data), name == "lstm"
    directions, states = 2 if bidirectional else 1, list(hx) if lstm else [hx]
    each = len(weights) // (layers * directions)
    ends = []
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            number = layer * directions + direction
            own = weights[number * each : (number + 1) * each]
            begin = [state[number : number + 1] for state in states]
            inputs = sizes.reversed(x) if direction else x
            y = getattr(torch.ops.stitchcuda, name)(inputs, begin if lstm else begin[0], own, has_biases, 1, 0.0, train, False, False)[0]
            ends.append((sizes.last(y), cell_at_end(inputs, sizes, begin, own)) if lstm else (sizes.last(y),))
            outputs.append(sizes.reversed(y) if direction else y)
        x = torch.cat(outputs, -1)
        if layer + 1 < layers:
            x = F.dropout(x, dropout, train)
    return (x.reshape(sizes.steps * sizes.batch, -1), *(torch.cat(parts) for parts in zip(*ends)))


def cell_at_end(x, sizes, begin, weights):
    """The cell state, which an LSTM returns only for its last step. Unused results aren't computed."""
    if len(weights) % 2:  # with a projection
        raise TaskError("export", "an LSTM with proj_size over packed sequences is not supported", "", "Pad the sequences and mask the results.")
    h, c = begin[0][0], begin[1][0]
    biases = weights[2:] if len(weights) == 4 else (None, None)
    inside = sizes.inside()
    for step in range(sizes.steps):
        h_next, c_next = torch.lstm_cell(x[step], (h, c), weights[0], weights[1], *biases)
        here = inside[step][:, None]
        h, c = torch.where(here, h_next, h), torch.where(here, c_next, c)
    return c[None]
