"""Maps the task's weights to a ModelNew whose tensors have other names.

A model that is made from the task's seed holds the task's random numbers, transposed or in another shape: where they are, given ones go.
Constant tensors (gains of one, shifts of zero) say nothing of where they belong: they get other numbers, equal ones where they were
equal, so that it doesn't matter which gain is which.
"""

import itertools
import types

import torch

PLAIN = (bool, int, float, complex, str, bytes, type, type(None), torch.dtype, torch.device, types.BuiltinFunctionType, types.ModuleType)


def renew(model, names, tensors, numbers, find, original=None):
    """Puts the given tensors where the model had the task's own. Whether it has all of the given ones then, or no place for
    them: not if it holds something else that may have been made of them.

    numbers: {name: the number that this tensor of the task's was throughout}; find(model, name): the model's tensor of a name;
    original: the task's own weights by name, if these are others."""
    rest = tensors_in(model)
    if rest is None:
        return False
    given, groups, places, sizes = dict(zip(names, tensors)), {}, [], []
    original = original or given
    others = any(not torch.equal(given[name], original[name]) for name in given.keys() - numbers.keys())
    for name, number in numbers.items():
        own = find(model, name)
        if own is None or own.shape != given[name].shape:
            groups.setdefault((number, given[name].numel()), []).append(given[name])
        else:
            places.append((own, given[name]))
    rest = without(rest, [own for own, _ in places])
    for name in given.keys() - numbers.keys():
        same = [own for own in rest if holds_same(own, original[name])]
        same = [own for own in same if own is find(model, name)] or same
        if same and others:
            arranged = as_in(same[0], original[name], given[name])
            if arranged is None or len(same) > 1:
                return False  # which of two identities is whose?
            places.append((same[0], arranged))
        same = same[:1]
        rest, sizes = without(rest, same), sizes if same else [*sizes, given[name].numel()]
    for (number, count), members in groups.items():
        alike = [own for own in rest if own.numel() == count and bool((own == number).all())]
        if len(alike) not in (0, len(members)):
            return False
        if alike and any(not torch.equal(member.reshape(-1), members[0].reshape(-1)) for member in members):
            return False
        places += [(own, members[0].reshape(own.shape)) for own in alike]
        rest, sizes = without(rest, alike), [*sizes, count]
    # A sum over a weight is smaller than that.
    if sizes and (sum(own.numel() for own in rest) >= min(sizes) or (others and rest)):
        return False
    with torch.no_grad():
        for own, tensor in places:
            own.copy_(tensor)
    return True


def without(tensors, some):
    return [tensor for tensor in tensors if all(tensor is not other for other in some)]


def holds_same(a, b):
    """The same numbers in whatever order: transposed and reshaped weights are the same weights."""
    return a.numel() == b.numel() and a.dtype == b.dtype and torch.equal(a.detach().reshape(-1).sort().values, b.reshape(-1).sort().values)


def as_in(own, original, given):
    """`given`, arranged as `own` has `original`; None: in no way that is known."""
    for order in itertools.permutations(range(original.dim())) if original.dim() <= 4 else ():
        if torch.equal(own.detach().reshape(-1), original.permute(order).reshape(-1)):
            return given.permute(order).reshape(own.shape)
    return None


def tensors_in(model):
    """A model's tensors that could be weights, each once; None: it holds an object that can't be inspected."""
    out = {}
    return list(out.values()) if collect(model, 4, out) else None


def collect(thing, depth, out):
    """Tensors by their id into `out`; False: there may be more."""
    if isinstance(thing, torch.nn.Module):
        return all([collect(part, depth, out) for module in thing.modules() for name, part in vars(module).items() if name != "_modules"])
    if isinstance(thing, torch.Tensor):
        if thing.is_floating_point():
            out[id(thing)] = thing
        return not torch.nn.parameter.is_lazy(thing)
    if depth and isinstance(thing, dict):
        return all([collect(part, depth - 1, out) for part in thing.values()])
    if depth and isinstance(thing, (list, tuple, set, frozenset)):
        return all([collect(part, depth - 1, out) for part in thing])
    # Globals of a function are ignored; its closure isn't.
    if isinstance(thing, types.FunctionType):
        return thing.__closure__ is None
    return isinstance(thing, PLAIN)
