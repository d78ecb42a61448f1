"""Rows that a mask selects (`x[mask]`), computed for all rows while a model is exported.

How many there are depends on values, and a program has fixed sizes. But what is computed row by row of x[mask] is also computed by
doing it to every row of x: beside the selection, which is traced as it is, the same is traced for all rows. `y[mask] = f(x[mask])`
then is a torch.where, and a sum or a mean over the selected rows one over masked ones. Whatever else the selection meets keeps a
size that depends on values, and is refused as before.
"""

import dataclasses

import torch
from torch.nn import functional as F
from torch.utils import _pytree as pytree
from torch.utils.weak import WeakIdKeyDictionary

from .known import SELECTIONS, UNKNOWN, functions

POINTWISE = functions(
    "add sub mul div true_divide neg abs exp expm1 log log1p log2 sqrt rsqrt reciprocal sin cos tanh sigmoid relu gelu silu elu selu "
    "leaky_relu softplus mish hardswish hardtanh relu6 pow square clamp clamp_min clamp_max erf floor ceil round sign eq ne lt le gt ge "
    "logical_and logical_or logical_not maximum minimum where float half double bfloat16 long int bool to type type_as detach clone "
    "contiguous dropout __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __neg__ __pow__ __lt__ __le__ __gt__ "
    "__ge__ __eq__ __ne__"
)
LAYERS = {F.linear, F.layer_norm, F.rms_norm}  # over the last dimensions, with weights of their own
ALONG_DIM = functions("softmax log_softmax normalize sum mean amax amin argmax argmin norm")
LOSSES = {F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.binary_cross_entropy, F.binary_cross_entropy_with_logits}
SUMS, MEANS = functions("sum"), functions("mean")
# x[mask] += 1 makes a new tensor: the old one is forgotten, so that it isn't read under another name.
OUT_OF_PLACE = {torch.Tensor.add_: torch.add, torch.Tensor.sub_: torch.sub, torch.Tensor.mul_: torch.mul, torch.Tensor.div_: torch.div}


@dataclasses.dataclass
class Rows:
    every: torch.Tensor  # (rows of the mask, …)
    mask: torch.Tensor  # as it was written, to be recognised
    version: int
    kept: torch.Tensor  # (rows of the mask), bool

    def masked(self, every, otherwise=0):
        kept = self.kept.reshape(-1, *[1] * (every.dim() - 1))
        return torch.where(kept, every, otherwise)


class SelectedRows:
    def __init__(self):
        self.rows = WeakIdKeyDictionary()  # traced selection -> Rows

    def result(self, function, arguments, keywords):
        """What the function returns or does; UNKNOWN where it has to be traced as it stands."""
        if function is torch.Tensor.__setitem__ and arguments[2] in self:
            return self.assign(*arguments)
        keywords = {name: value for name, value in keywords.items() if value is not None}  # as torch.nn.functional passes them on
        rows = self.of((arguments, keywords))
        if rows is None:
            return UNKNOWN
        if function in OUT_OF_PLACE and arguments[0] in self:
            result = OUT_OF_PLACE[function](*arguments)
            self.note(OUT_OF_PLACE[function], arguments, keywords, result)
            del self.rows[arguments[0]]
            return result
        if reduces_rows(function, arguments, keywords):
            return self.reduced(function, rows, arguments, keywords)
        return UNKNOWN

    def note(self, function, arguments, keywords, result):
        """Computes for every row what was traced for the selected ones."""
        if not isinstance(result, torch.Tensor):
            return
        if function in SELECTIONS and len(arguments) == 2 and is_mask(arguments[1]) and not keywords:
            self.select(function, *arguments, result)
            return
        rows = self.of((arguments, keywords))
        if rows is not None and is_by_row(function, arguments, keywords, self):
            every = function(*self.every(arguments), **self.every(keywords))
            self.rows[result] = dataclasses.replace(rows, every=every)

    def select(self, function, x, mask, result):
        if function is not torch.Tensor.__getitem__:  # masked_select: of what both are broadcast to
            x, mask_of_x = torch.broadcast_tensors(x, mask)
        else:
            mask_of_x = mask
        if x in self or mask_of_x.dim() == 0 or x.shape[: mask_of_x.dim()] != mask_of_x.shape:
            return
        every = x.clone().reshape(mask_of_x.numel(), *x.shape[mask_of_x.dim() :])
        self.rows[result] = Rows(every, mask, mask._version, mask_of_x.clone().reshape(-1))

    def assign(self, target, key, value):
        """target[mask] = what was computed of another tensor's rows under the same mask."""
        rows = self.rows[value]
        if key is not rows.mask or key._version != rows.version or target.shape[: key.dim()] != key.shape:
            return UNKNOWN
        every = rows.every.expand(rows.every.shape[0], *target.shape[key.dim() :]).reshape(target.shape)
        mask = rows.kept.reshape(*key.shape, *[1] * (target.dim() - key.dim()))
        target.copy_(torch.where(mask, every.to(target.dtype), target))
        return None

    def reduced(self, function, rows, arguments, keywords):
        if function is F.cross_entropy:
            return self.cross_entropy(rows, *arguments, **keywords)
        if function in LOSSES:
            each = function(*self.every(arguments), **{**self.every(keywords), "reduction": "none"})
            function = torch.sum if keywords.get("reduction") == "sum" else torch.mean
        else:
            each = rows.every
        total = rows.masked(each).sum()
        if function in SUMS:
            return total
        return total / (rows.kept.sum() * (each.numel() // max(1, each.shape[0])))

    def cross_entropy(self, rows, input, target, **keywords):
        ignored = keywords.get("ignore_index", -100)
        return F.cross_entropy(rows.every, rows.masked(self.rows[target].every, ignored), **keywords)

    def every(self, tree):
        return pytree.tree_map(lambda leaf: self.rows[leaf].every if leaf in self else leaf, tree)

    def of(self, tree):
        """The rows that all selections among these arguments have in common; None where there are none, or several masks."""
        found = [self.rows[leaf] for leaf in pytree.tree_leaves(tree) if leaf in self]
        same = all(rows.mask is found[0].mask and rows.version == found[0].version for rows in found)
        return found[0] if found and same else None

    def __contains__(self, leaf):
        return isinstance(leaf, torch.Tensor) and leaf in self.rows


def is_mask(key):
    return isinstance(key, torch.Tensor) and key.dtype == torch.bool


def reduces_rows(function, arguments, keywords):
    if function is F.cross_entropy:
        return len(arguments) == 2 and set(keywords) <= {"ignore_index", "label_smoothing", "reduction"} and keywords.get("reduction") != "none"
    if function in LOSSES:
        return len(arguments) == 2 and set(keywords) <= {"reduction", "beta", "delta"} and keywords.get("reduction") != "none"
    return function in SUMS | MEANS and len(arguments) == 1 and not keywords


def is_by_row(function, arguments, keywords, selected):
    first = arguments[0] if arguments else None
    if function in POINTWISE:
        most = max(leaf.dim() for leaf in pytree.tree_leaves((arguments, keywords)) if leaf in selected)
        others = [leaf for leaf in pytree.tree_leaves((arguments, keywords)) if isinstance(leaf, torch.Tensor) and leaf not in selected]
        ranks = {leaf.dim() for leaf in pytree.tree_leaves((arguments, keywords)) if leaf in selected}
        # Rows are the first dimension, with which an operand of the same rank would be broadcast.
        return len(ranks) == 1 and all(other.dim() < most or other.dim() == most and other.shape[0] == 1 for other in others)
    if function in LAYERS:
        return first in selected and first.dim() > 1 and not any(leaf in selected for leaf in pytree.tree_leaves((arguments[1:], keywords)))
    if function in ALONG_DIM and first in selected:
        dim = keywords.get("dim", arguments[1] if len(arguments) > 1 else None)
        return isinstance(dim, int) and dim % first.dim() != 0
    if function is torch.Tensor.__getitem__ and first in selected and isinstance(arguments[1], tuple):
        # All rows, and numbers or slices behind.
        return arguments[1][:1] == (slice(None),) and all(isinstance(key, (int, slice)) for key in arguments[1][1:])
    return False
