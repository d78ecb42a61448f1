"""Rows at a place that a tensor without dimensions says: x[i], cache[:, position] = k.

PyTorch reads the number and takes a view. A program takes the row by its index instead, and writes it back where forward assigns it. The
row is a copy: writing to it, without assigning it to its place, would be lost, and is refused.
"""

import torch

from ..base.errors import TaskError
from .known import UNKNOWN, writes

GET, SET = torch.Tensor.__getitem__, torch.Tensor.__setitem__


class Places:
    def __init__(self, known):
        self.known = known
        self.copies = {}  # memory of a row that was taken out -> the row
        self.lost = set()  # memory of those that were written to, and not put back

    def plain(self, function, arguments):
        """The same arguments with what indexing means by its keys: places that are known, masks of bytes, masks in lists."""
        if function not in (GET, SET):
            return arguments
        keys = arguments[1] if isinstance(arguments[1], tuple) else (arguments[1],)
        meant = tuple(map(self.meant, keys))
        if all(one is other for one, other in zip(keys, meant)):
            return arguments
        return (arguments[0], meant if isinstance(arguments[1], tuple) else meant[0], *arguments[2:])

    def meant(self, key):
        if isinstance(key, list) and key and all(isinstance(part, bool) for part in key):
            mask = torch.tensor(key)
            self.known.note(torch.tensor, (key,), {}, mask)
            return mask
        if is_place(key) and self.known.is_known(key):
            return self.known.compute(torch.Tensor.item, (key,), {})
        if isinstance(key, torch.Tensor) and key.dtype == torch.uint8 and key.dim():
            mask = key.bool()
            self.known.note(torch.Tensor.bool, (key,), {}, mask)
            return mask
        return key

    def result(self, function, arguments, keywords):
        if self.copies and writes(function, keywords) and function is not SET:
            self.lost.update(memory(x) for x in (*arguments[:1], keywords.get("out")) if memory(x) in self.copies)
        if function not in (GET, SET):
            return UNKNOWN
        x, key = arguments[:2]
        keys = key if isinstance(key, tuple) else (key,)
        if not any(map(is_place, keys)):
            return UNKNOWN
        row, placed = x, []
        for dim, place in places_of(x, keys):
            placed.append((dim, torch.where(place < 0, place + x.shape[dim], place).reshape(1)))
            row = row.index_select(*placed[-1])
        keys = tuple(0 if is_place(key) else key for key in keys)
        if function is GET:
            row = row[keys]
            self.copies[memory(row)] = row
            return row
        self.lost.discard(memory(arguments[2]))
        row[keys] = arguments[2]
        put_back(x, placed, row)
        return None

    def check(self):
        if self.lost:
            raise TaskError(
                "data_dependent",
                "forward writes to x[i], where i is a tensor that says the place",
                "",
                "Assign it: x[i] = x[i] * 2 instead of x[i].mul_(2), or use index_copy_ and index_add_.",
            )


def memory(x):
    plain = isinstance(x, torch.Tensor) and x.layout == torch.strided and not torch._C._functorch.is_functorch_wrapped_tensor(x)
    return x.untyped_storage()._cdata if plain else None


def put_back(x, placed, row):
    """x with the row of these places, one dimension inside the other."""
    (dim, place), *rest = placed
    if rest:
        inner = x.index_select(dim, place)
        put_back(inner, rest, row)
        row = inner
    x.index_copy_(dim, place, row)


def is_place(key):
    return (
        isinstance(key, torch.Tensor)
        and key.dim() == 0
        and key.dtype in (torch.int64, torch.int32, torch.int16, torch.int8)
        and not torch._C._functorch.is_functorch_wrapped_tensor(key)
    )


def places_of(x, keys):
    """(dimension of x, place)"""
    taken = sum(dims_of(key) for key in keys)
    dim, found = 0, []
    for key in keys:
        if is_place(key):
            found.append((dim, key))
        dim += x.dim() - taken if key is Ellipsis else dims_of(key)
    return found


def dims_of(key):
    if key is None or key is Ellipsis or isinstance(key, bool):
        return 0
    return key.dim() if isinstance(key, torch.Tensor) and key.dtype == torch.bool else 1
