"""Random numbers of a float64 run: those that the model's own precision draws from the same seed.

On a GPU the numbers that a seed gives depend on the dtype, and uniform ones do on a CPU, too. So an operator that draws is run in
the model's dtype, with the same shapes and strides, and what it drew is widened: the truth drops what the model drops.
"""

import torch
from torch.utils import _pytree as pytree

aten = torch.ops.aten
# Without a tensor that says it, numbers are drawn in PyTorch's default dtype.
FACTORIES = (aten.rand, aten.randn, aten.normal.float_float)
# What they draw is a part of what they compute, and each dtype has a kernel of its own. Left as they are.
WITH_PRODUCTS = ("rnn", "lstm", "gru", "attention", "rrelu")


def draws(function):
    return torch.Tag.nondeterministic_seeded in function.tags and not any(word in function._schema.name for word in WITH_PRODUCTS)


def draw(function, args, kwargs, native):
    """What `function` answers in float64, by numbers drawn in `native`."""
    if function is aten.native_dropout.default:
        return dropout(native, *args, **kwargs)
    made = function in FACTORIES or function.overloadpacket in FACTORIES
    dtype = torch.float32 if made else native
    narrow = {}  # id of an argument: it, and what was drawn in its place

    def narrowed(leaf):
        if leaf is torch.float64:
            return dtype
        if not isinstance(leaf, torch.Tensor) or leaf.dtype != torch.float64:
            return leaf
        return narrow.setdefault(id(leaf), (leaf, leaf.to(dtype)))[1]

    if made and kwargs.get("dtype") is None:
        kwargs = {**kwargs, "dtype": dtype}
    result = function(*pytree.tree_map(narrowed, args), **pytree.tree_map(narrowed, kwargs))
    if function._schema.is_mutable:
        for wide, drawn in narrow.values():
            if any(leaf is drawn for leaf in pytree.tree_leaves(result)):
                wide.copy_(drawn)
                result = wide
        return result
    return pytree.tree_map(lambda leaf: leaf.double() if isinstance(leaf, torch.Tensor) and leaf.dtype == dtype else leaf, result)


def dropout(native, x, p, train=None):
    if x.dtype != torch.float64 or train is False:
        return aten.native_dropout.default(x, p, train)
    mask = aten.native_dropout.default(x.to(native), p, train)[1]
    return (x * mask * (1 / (1 - p)) if p < 1 else x * 0), mask
