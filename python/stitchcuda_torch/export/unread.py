"""Functions of PyTorch that read values where a program needs only shapes, replaced while a model is exported.

bincount's result is as long as its largest element asks for, but at least `minlength`: our operator is exactly that long,
and the import refuses it unless it sees that no element is larger. quantile reads q to see that it lies within [0, 1], cov whether
it has enough observations, gaussian_nll_loss the signs of variances, ctc_loss its lengths. combinations selects by a mask.
"""

import itertools
import math

import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from ..base.errors import TaskError
from . import float8, places, selected
from .known import UNKNOWN, KnownValues

aten = torch.ops.aten
LONGEST = (1 << 63) - 1  # a slice without an end
_library = torch.library.Library("stitchcuda", "FRAGMENT")
_library.define("bincount(Tensor self, Tensor? weights, int minlength) -> Tensor")
_library.define(
    "ctc_loss(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank, int reduction, bool zero_infinity) -> Tensor"
)


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


def bound_counts(program):
    """Where longer counts would fit nothing, PyTorch raises: elements are below minlength, and the graph says so."""
    graph = program.graph_module.graph
    for node in list(graph.nodes):
        if node.target is torch.ops.stitchcuda.bincount.default and node.users and has_one_length(node):
            x, _, minlength = node.args
            with graph.inserting_before(node):
                bounded = graph.call_function(aten.clamp.default, (x, 0, minlength - 1))
            bounded.meta = dict(x.meta)
            node.replace_input_with(x, bounded)


def has_one_length(node):
    """Whether all that is made of a tensor goes into memory of a given size."""
    for user in node.users:
        written = user.target is aten.copy_.default and user.args[1] is node and user.args[0].meta["val"].dim() == 1
        if not written and not (keeps_length(user) and user.users and has_one_length(user)):
            return False
    return True


def keeps_length(node):
    """Whether an element more at the end gives one more."""
    if node.target is aten.slice.Tensor:
        _, _, start, end, step = (*node.args, *(0, None, None, 1)[len(node.args) - 1 :])
        return (start or 0) >= 0 and (end is None or end < 0 or end == LONGEST) and step == 1
    return node.target in (aten.cumsum.default, aten.to.dtype, aten._to_copy.default)


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


def _ctc_shape(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity):
    return log_probs.new_empty(log_probs.shape[1:-1] if reduction == 0 else ())


_library.impl("ctc_loss", torch.ctc_loss, "CompositeExplicitAutograd")
torch.library.register_fake("stitchcuda::ctc_loss", _ctc_shape, lib=_library)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    def tensor(lengths):
        return lengths if isinstance(lengths, torch.Tensor) else torch.tensor(lengths)

    return torch.ops.stitchcuda.ctc_loss(
        log_probs, targets, tensor(input_lengths), tensor(target_lengths), blank, F._Reduction.get_enum(reduction), zero_infinity
    )


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    if not isinstance(var, torch.Tensor):
        var = torch.full_like(input, var)
    elif var.shape != input.shape and input.shape[:-1] == var.shape:
        var = var.unsqueeze(-1)
    var = var.clamp(min=eps)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return {"mean": torch.mean, "sum": torch.sum, "none": lambda each: each}[reduction](loss)


def cov(input, *, correction=1, fweights=None, aweights=None):
    if fweights is not None or aweights is not None:
        return torch.cov(input, correction=correction, fweights=fweights, aweights=aweights)
    x = input.reshape(-1, input.shape[-1] if input.dim() else 1)
    x = x - x.mean(1, keepdim=True)
    return (x @ x.mT.conj() / max(0, x.shape[1] - correction)).squeeze()


def corrcoef(input):
    c = cov(input)
    if c.dim() == 0:
        return c / c
    deviation = c.diagonal().sqrt()
    return (c / deviation[:, None] / deviation[None, :]).clamp(-1, 1)


def combinations(input, r=2, with_replacement=False):
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = list(choose(range(input.shape[0]), r))
    return input[torch.tensor(chosen, dtype=torch.int64, device=input.device).reshape(len(chosen), r)]


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    longest = max(map(len, sequences))
    rows = []
    for x in sequences:
        short = longest - len(x)
        ends = (short, 0) if padding_side == "left" else (0, short)
        rows.append(F.pad(x, (*[0, 0] * (x.dim() - 1), *ends), value=padding_value))
    return torch.stack(rows, 0 if batch_first else 1)


def bucketize(input, boundaries, **keywords):
    numbers = not isinstance(input, torch.Tensor)
    return torch.searchsorted(boundaries, input, **keywords) if numbers else torch.bucketize(input, boundaries, **keywords)


def attention(query, key, value, attn_mask=None, *rest, **keywords):
    if hasattr(attn_mask, "_materialize"):  # torch.nn.attention.bias.CausalBias, a mask by name
        attn_mask = causal_mask(attn_mask.variant, attn_mask.seq_len_q, attn_mask.seq_len_kv)
    return F.scaled_dot_product_attention(query, key, value, attn_mask, *rest, **keywords)


def causal_mask(variant, queries, keys):
    return torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries if variant.name == "LOWER_RIGHT" else 0)


def element_by_element(x, *rest):
    raise TaskError("export", "apply_ and map_ call Python for each element", "", "Write the function with operators of tensors.")


REPLACED = {
    torch._C._nn.pad_sequence: pad_sequence,
    torch.bucketize: bucketize,
    F.scaled_dot_product_attention: attention,
    torch.Tensor.apply_: element_by_element,
    torch.Tensor.map_: element_by_element,
    torch.bincount: bincount,
    torch.Tensor.bincount: bincount,
    torch.quantile: quantile,
    torch.Tensor.quantile: quantile,
    torch.nanquantile: lambda *rest, **more: quantile(*rest, **more, skip_nan=True),
}
REPLACED[torch.Tensor.nanquantile] = REPLACED[torch.nanquantile]
REPLACED |= {
    F.ctc_loss: ctc_loss,
    F.gaussian_nll_loss: gaussian_nll_loss,
    torch.combinations: combinations,
    torch.cov: cov,
    torch.Tensor.cov: cov,
    torch.corrcoef: corrcoef,
    torch.Tensor.corrcoef: corrcoef,
    # What is traced has no memory that another tensor could be made of: x.data is x without its history.
    torch.Tensor.data.__get__: torch.Tensor.detach,
}


class Unread(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.known = KnownValues()
        self.selected = selected.SelectedRows()
        self.places = places.Places(self.known)

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        keywords = keywords or {}
        check_generator(keywords)
        arguments = self.places.plain(function, arguments)
        result = self.places.result(function, arguments, keywords)
        if result is not UNKNOWN:
            return result
        result = float8.result(function, arguments, keywords)
        if result is not UNKNOWN:
            return result
        result = self.known.result(function, arguments, keywords)
        if result is not UNKNOWN:
            return result
        result = self.selected.result(function, arguments, keywords)
        if result is not UNKNOWN:
            return result
        result = REPLACED.get(function, function)(*arguments, **keywords)
        self.known.note(function, arguments, keywords, result)
        self.selected.note(function, arguments, keywords, result)
        return result


def check_generator(keywords):
    if isinstance(keywords.get("generator"), torch.Generator):
        raise TaskError(
            "export",
            "forward draws random numbers from a torch.Generator of its own, which a program does not have",
            "",
            "Leave generator= out, or draw the numbers once, in the constructor, or pass them as an input.",
        )
