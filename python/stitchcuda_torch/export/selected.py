"""Rows that a mask selects (`x[mask]`, `x[i]` with `j, i = torch.where(mask)`), computed at every place of the mask while a model is
exported.

How many there are depends on values, and a program has fixed sizes. But what is computed row by row of x[mask] is also computed by
doing it to every row of x: beside the selection, which is traced as it is, the same is traced for all rows. `y[mask] = f(x[mask])`
then is a torch.where, `y.index_add_(0, i, f(x[i]))` a sum of masked rows, and a sum or a mean over the selected rows one over masked
ones. Whatever else the selection meets keeps a size that depends on values, and is refused as before.

The experts of a mixture are the case in mind. `if i.numel() == 0: continue` is answered with no and `if mask.any():` with yes, since
adding no rows changes nothing, and a loop over the experts that have rows (`for e in counts.nonzero()`) goes over all of them.
"""

import dataclasses
import math

import torch
from torch.nn import functional as F
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes
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
NORMS = functions("norm normalize")
ALONG_DIM = functions("softmax log_softmax sum mean amax amin argmax argmin") | NORMS
LOSSES = {F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.binary_cross_entropy, F.binary_cross_entropy_with_logits}
SUMS, MEANS = functions("sum"), functions("mean")
# x[mask] += 1 makes a new tensor: the old one is forgotten, so that it isn't read under another name.
OUT_OF_PLACE = {torch.Tensor.add_: torch.add, torch.Tensor.sub_: torch.sub, torch.Tensor.mul_: torch.mul, torch.Tensor.div_: torch.div}
BY_WEIGHTS = functions("matmul mm __matmul__")  # rows times a matrix
PLACES = functions("where nonzero")
UNSQUEEZE = functions("unsqueeze")
SHAPED = functions("squeeze") | UNSQUEEZE
SPLIT = functions("chunk split")
COUNTS, ABOVE = functions("any sum"), functions("gt __gt__ greater")
ITERATED = functions("unbind")  # for row in rows
ADDED = functions("index_add index_add_")
FEW = 1 << 10  # times that a loop over a selection is unrolled


@dataclasses.dataclass
class Rows:
    every: torch.Tensor  # (*the mask's dimensions, each as long or 1, …)
    mask: torch.Tensor  # as it was written, to be recognised
    version: int
    kept: torch.Tensor  # bool, the mask's shape
    dim: int | None = None  # every is the place itself, along this dimension of the mask

    @property
    def lead(self):
        return self.kept.dim()

    def masked(self, every, otherwise=0):
        kept = self.kept.reshape(*self.kept.shape, *[1] * (every.dim() - self.lead))
        return torch.where(kept, every, otherwise)

    def flat(self, every):
        """(places, …)"""
        return every.expand(*self.kept.shape, *every.shape[self.lead :]).flatten(0, self.lead - 1)


class SelectedRows:
    def __init__(self):
        self.rows = WeakIdKeyDictionary()  # traced selection -> Rows
        self.counts = WeakIdKeyDictionary()  # traced mask.any(), mask.sum() or mask.sum() > 0 -> the mask's identity
        self.masks = []
        self.asked = set()  # masks of which forward asks whether they select anything, and is told yes
        self.unused = set()  # of them, those whose rows it has not selected so far

    def result(self, function, arguments, keywords):
        """What the function returns or does; UNKNOWN where it has to be traced as it stands."""
        if function is torch.Tensor.__setitem__ and arguments[2] in self:
            return self.assign(*arguments)
        if function is torch.Tensor.__bool__ and arguments[0] in self.counts:
            self.asked.add(self.counts[arguments[0]])
            self.unused.add(self.counts[arguments[0]])
            return True
        if function in ITERATED and arguments[0] in self and arguments[1:] in ((), (0,)) and not keywords:
            return self.each(self.rows[arguments[0]])
        keywords = {name: value for name, value in keywords.items() if value is not None}  # as torch.nn.functional passes them on
        rows = self.of((arguments, keywords))
        if rows is None:
            return UNKNOWN
        if function in ADDED:
            return self.add(function, rows, *arguments, **keywords)
        if function in OUT_OF_PLACE and arguments[0] in self:
            result = OUT_OF_PLACE[function](*arguments)
            self.note(OUT_OF_PLACE[function], arguments, keywords, result)
            del self.rows[arguments[0]]
            return result
        if reduces_rows(function, arguments, keywords):
            return self.reduced(function, rows, arguments, keywords)
        return UNKNOWN

    def note(self, function, arguments, keywords, result):
        """Computes at every place what was traced for the selected rows."""
        if function in COUNTS and len(arguments) == 1 and not keywords and not arguments[0].is_floating_point():
            self.counts[result] = identity(arguments[0])
            self.masks.append(arguments[0])  # alive, so that its memory is not another's
        elif function in ABOVE and arguments[0] in self.counts and type(arguments[1]) in (int, float) and arguments[1] == 0:
            self.counts[result] = self.counts[arguments[0]]
        if function in PLACES and isinstance(arguments[0], torch.Tensor) and len(arguments) == 1:
            self.note_places(arguments[0], result)
            return
        parts = list(result) if isinstance(result, (tuple, list)) else [result]
        if not all(isinstance(part, torch.Tensor) for part in parts):
            return
        if function in SELECTIONS and len(arguments) == 2 and is_mask(arguments[1]) and not keywords:
            self.select(function, *arguments, result)
            return
        rows = self.of((arguments, keywords))
        if rows is None:
            return
        if function is torch.Tensor.__getitem__ and arguments[0] not in self:
            every = self.rows_of(rows, *arguments)
        elif is_by_row(function, arguments, keywords, self):
            every = at_every_place(function, *self.every((arguments, keywords)), arguments[0], rows.lead)
        else:
            return
        if every is not None:
            dim = rows.dim if function in SHAPED else None
            for part, whole in zip(parts, every if isinstance(every, (tuple, list)) else [every]):
                self.rows[part] = dataclasses.replace(rows, every=whole, dim=dim)

    def note_places(self, mask, result):
        """i, j = torch.where(mask), one along each dimension, or mask.nonzero(), all of them together."""
        if mask.dim() == 0 or mask in self:
            return
        rows = Rows(None, mask, mask._version, mask.clone() if mask.dtype == torch.bool else mask != 0)
        self.unused.discard(identity(mask))
        places = torch.meshgrid(*[torch.arange(size) for size in mask.shape], indexing="ij")
        if isinstance(result, torch.Tensor):
            self.rows[result] = dataclasses.replace(rows, every=torch.stack(places, -1), dim=0 if rows.lead == 1 else None)
            return
        for dim, part in enumerate(result):
            line = [slice(None) if axis == dim else slice(1) for axis in range(rows.lead)]
            self.rows[part] = dataclasses.replace(rows, every=places[dim][tuple(line)], dim=dim)
            torch._check(part.shape[0] > 0)
            self.asked.add(identity(mask))

    def select(self, function, x, mask, result):
        if function is not torch.Tensor.__getitem__:  # masked_select: of what both are broadcast to
            x, mask_of_x = torch.broadcast_tensors(x, mask)
        else:
            mask_of_x = mask
        if x in self or mask_of_x.dim() == 0 or x.shape[: mask_of_x.dim()] != mask_of_x.shape:
            return
        self.unused.discard(identity(mask))
        self.rows[result] = Rows(x.clone(), mask, mask._version, mask_of_x.clone())

    def rows_of(self, rows, x, key):
        """x[i, j] with places i and j, or what was computed of them; None where it can't be told."""
        keys = key if isinstance(key, tuple) else (key,)
        count = next((n for n, part in enumerate(keys) if part not in self), len(keys))
        rest = keys[count:]
        if count == 0 or any(isinstance(part, torch.Tensor) or part is Ellipsis for part in rest):
            return None
        found = [self.rows[part] for part in keys[:count]]
        if any(one.every.dim() != rows.lead for one in found):
            return None
        dims = [one.dim for one in found]
        x = x.clone()
        if None in dims or len(set(dims)) < count or any(rows.kept.shape[dim] > x.shape[n] for n, dim in enumerate(dims)):
            every = x[tuple(rows.masked(one.every) for one in found)]
        else:  # x itself, in the order of the mask's dimensions
            every = x[tuple(slice(rows.kept.shape[dim]) for dim in dims)].permute(*sorted(range(count), key=dims.__getitem__), *range(count, x.dim()))
            every = every.reshape([size if dim in dims else 1 for dim, size in enumerate(rows.kept.shape)] + list(every.shape[count:]))
        return every[(*[slice(None)] * rows.lead, *rest)]

    def each(self, rows):
        """The elements of mask.nonzero(), as if all were there: what a loop does for one that has no rows changes nothing."""
        if rows.lead > 1 or rows.dim is None or rows.kept.numel() > FEW:
            return UNKNOWN
        with _disable_current_modes():
            return tuple(torch.full(rows.every.shape[1:], place) for place in range(rows.kept.numel()))

    def assign(self, target, key, value):
        """target[mask] = what was computed of another tensor's rows under the same mask, or target[i, j] = … at its places."""
        rows = self.rows[value]
        keys = key if isinstance(key, tuple) else (key,)
        if all(part in self and self.rows[part].mask is rows.mask for part in keys):
            return self.assign_places(rows, target, [self.rows[part] for part in keys])
        if key is not rows.mask or key._version != rows.version or target.shape[: key.dim()] != key.shape:
            return UNKNOWN
        if rows.every.dim() != target.dim():
            return UNKNOWN
        target.copy_(torch.where(rows.kept.reshape(*key.shape, *[1] * (target.dim() - key.dim())), rows.every.to(target.dtype), target))
        return None

    def assign_places(self, rows, target, keys):
        """Rows that aren't kept are written behind the target."""
        count = len(keys)
        if any(one.every.dim() != rows.lead for one in keys) or rows.every.dim() - rows.lead != target.dim() - count:
            return UNKNOWN
        flat = target.flatten(0, count - 1)
        place = 0
        for one, size in zip(keys, target.shape):
            place = place * size + one.every
        place = rows.flat(rows.masked(place, flat.shape[0]))
        source = rows.flat(rows.every).to(target.dtype).expand(place.shape[0], *flat.shape[1:])
        written = torch.cat([flat, torch.zeros_like(flat[:1])]).index_copy(0, place, source)
        target.copy_(written[: flat.shape[0]].reshape(target.shape))
        return None

    def add(self, function, rows, target, dim, index, source, **keywords):
        """target.index_add(0, i, rows)"""
        if keywords or dim != 0 or index not in self or source not in self or self.rows[index].every.dim() != rows.lead:
            return UNKNOWN
        place = self.rows[index]
        added = rows.masked(self.rows[source].every).to(target.dtype)
        if place.dim is not None and rows.kept.shape[place.dim] == target.shape[0]:
            others = [dim for dim in range(rows.lead) if dim != place.dim]
            result = target + (added.sum(others) if others else added)
        else:
            result = target.index_add(0, rows.flat(rows.masked(place.every)), rows.flat(added))
        return target.copy_(result) if function is torch.Tensor.index_add_ else result

    def reduced(self, function, rows, arguments, keywords):
        if not is_sum(function, keywords) and identity(rows.mask) in self.asked:
            return UNKNOWN  # of no rows it would be NaN
        if function is F.cross_entropy:
            return self.cross_entropy(rows, *arguments, **keywords)
        if function in LOSSES:
            each = function(*self.every(arguments), **{**self.every(keywords), "reduction": "none"})
            function = torch.sum if keywords.get("reduction") == "sum" else torch.mean
        else:
            each = self.rows[arguments[0]].every
        total = rows.masked(each).sum()
        if function in SUMS:
            return total
        return total / (rows.kept.sum() * math.prod(each.shape[rows.lead :]))

    def cross_entropy(self, rows, input, target, **keywords):
        ignored = keywords.get("ignore_index", -100)
        return F.cross_entropy(rows.flat(self.rows[input].every), rows.flat(rows.masked(self.rows[target].every, ignored)), **keywords)

    def every(self, tree):
        return pytree.tree_map(lambda leaf: self.rows[leaf].every if leaf in self else leaf, tree)

    def of(self, tree):
        """The rows that all selections among these arguments have in common; None where there are none, or several masks."""
        found = [self.rows[leaf] for leaf in pytree.tree_leaves(tree) if leaf in self]
        same = all(rows.mask is found[0].mask and rows.version == found[0].version for rows in found)
        return found[0] if found and same else None

    def __contains__(self, leaf):
        return isinstance(leaf, torch.Tensor) and leaf in self.rows


def identity(tensor):
    return tensor.untyped_storage()._cdata, tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor._version


def is_sum(function, keywords):
    return function in SUMS or keywords.get("reduction") == "sum"


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
    if first not in selected:
        return False
    if function in LAYERS or function in BY_WEIGHTS:
        rest = pytree.tree_leaves((arguments[1:], keywords))
        return first.dim() > 1 and not any(leaf in selected for leaf in rest) and (function in LAYERS or rest[0].dim() == 2)
    if function in ALONG_DIM | SHAPED | SPLIT:
        dim = dim_of(function, arguments, keywords)
        return isinstance(dim, int) and dim % (first.dim() + (function in UNSQUEEZE)) != 0
    if function is torch.Tensor.__getitem__ and isinstance(arguments[1], tuple):
        # All rows, and numbers or slices behind.
        key = arguments[1]
        begins = key[:1] == (slice(None),) or key[:1] == (Ellipsis,) and len(key) <= first.dim()
        return begins and all(part is None or isinstance(part, (int, slice)) for part in key[1:])
    return False


def place_of_dim(function):
    return 2 if function in SPLIT | NORMS else 1


def dim_of(function, arguments, keywords):
    place = place_of_dim(function)
    return keywords.get("dim", arguments[place] if len(arguments) > place else None)


def at_every_place(function, arguments, keywords, first, lead):
    """function(…) of the arguments at every place, where `lead` dimensions stand for the one of the selected rows."""
    if function in BY_WEIGHTS:
        function = torch.matmul
    elif function is torch.Tensor.__getitem__ and arguments[1][0] == slice(None):
        arguments = arguments[0], (*[slice(None)] * lead, *arguments[1][1:])
    elif function in ALONG_DIM | SHAPED | SPLIT:
        place, rank = place_of_dim(function), first.dim() + (function in UNSQUEEZE)
        dim = dim_of(function, arguments, keywords) % rank - rank
        if len(arguments) > place:
            arguments = (*arguments[:place], dim, *arguments[place + 1 :])
        else:
            keywords = {**keywords, "dim": dim}
    return function(*arguments, **keywords)
