"""What an object's attributes hold, as deep as containers and plain objects go: to see what a call changes there, and to undo it."""

import collections
import types

import torch

MOST = 200_000  # places: a model's modules and settings, not its data
OPAQUE = (
    torch.Tensor,
    torch.Generator,
    torch.dtype,
    torch.device,
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    str,
    bytes,
    int,
    float,
    complex,
    bool,
    type(None),
)


class Attributes:
    """Of `root`, as they are now."""

    def __init__(self, root):
        self.containers, self.ids, left = [], {}, [("", root)]
        while left and len(self.containers) < MOST:
            name, owner = left.pop()
            entries = entries_of(owner)
            if entries is None or id(owner) in self.ids:
                continue
            self.ids[id(owner)] = owner  # kept alive, so that no other object takes its id
            self.containers.append((name, owner, entries))
            left.extend((joined(name, key), value) for key, value in entries.items() if not isinstance(value, OPAQUE))

    def changed(self):
        """{name: (before, now)} of the entries that are others now."""
        found = {}
        for name, owner, before in self.containers:
            now = entries_of(owner)
            found.update(
                {
                    joined(name, key): (before.get(key), now.get(key))
                    for key in {**before, **now}
                    if key not in before or key not in now or not alike(before[key], now[key])
                }
            )
        return found

    def restore(self):
        for _, owner, before in self.containers:
            now = entries_of(owner)
            if len(now) == len(before) and all(key in now and now[key] is value for key, value in before.items()):
                continue
            if isinstance(owner, (list, collections.deque)):
                owner.clear()
                owner.extend(before.values())
            elif isinstance(owner, set):
                owner.clear()
                owner.update(before.values())
            elif not isinstance(owner, tuple):
                entries = owner if isinstance(owner, dict) else vars(owner)
                for key in now:
                    if key not in before:
                        del entries[key]
                entries.update(before)


def entries_of(owner):
    """{key: value}, a copy; None: nothing to look into."""
    if isinstance(owner, OPAQUE):
        return None
    if isinstance(owner, dict):
        return dict(owner)
    if isinstance(owner, (list, tuple, collections.deque)):
        return dict(enumerate(owner))
    if isinstance(owner, set):
        return {value if isinstance(value, OPAQUE) else id(value): value for value in owner}
    if isinstance(owner, torch.nn.RNNBase):  # lists of its parameters, made again where those were replaced
        return {key: value for key, value in vars(owner).items() if key not in ("_flat_weights", "_flat_weight_refs")}
    return dict(vars(owner)) if hasattr(owner, "__dict__") else None


def alike(old, new):
    if old is new:
        return True
    if isinstance(old, OPAQUE) or isinstance(new, OPAQUE):
        plain = not isinstance(old, torch.Tensor) and not isinstance(new, torch.Tensor)
        return plain and type(old) is type(new) and (old == new or old != old and new != new)
    old, new = entries_of(old), entries_of(new)
    return old is not None and new is not None and old.keys() == new.keys() and all(alike(old[key], new[key]) for key in old)


def joined(name, key):
    if key in ("_modules", "_buffers", "_parameters"):
        return name
    return f"{name}.{key}" if name else str(key)
