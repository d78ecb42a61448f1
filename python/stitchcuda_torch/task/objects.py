"""Objects of transformers that hold tensors (its caches of keys and values): taken apart and made again.

PyTorch looks into no class that it was not told of. Tensors and containers are an object's parts; what else it holds is kept as it is.
"""

import dataclasses
import importlib

import torch
from torch.utils import _pytree as pytree

DEPTH = 6


def is_object(value, depth=DEPTH):
    kind = type(value)
    return (
        kind.__module__.partition(".")[0] == "transformers"
        and not dataclasses.is_dataclass(value)
        and not isinstance(value, (dict, list, tuple))
        and not isinstance(value, torch.nn.Module)
        and hasattr(value, "__dict__")
        and any(holds(part, depth - 1) for part in vars(value).values())
    )


def holds(value, depth=DEPTH):
    """Whether there is a tensor in it."""
    if isinstance(value, torch.Tensor):
        return True
    if depth == 0 or isinstance(value, type):
        return False
    if isinstance(value, (list, tuple)):
        return any(holds(part, depth - 1) for part in value)
    if isinstance(value, dict):
        return any(holds(part, depth - 1) for part in value.values())
    return is_object(value, depth)


def register(kind):
    if kind not in pytree.SUPPORTED_NODES:
        pytree.register_pytree_node(
            kind, take_apart, lambda parts, facts: rebuild(kind, **dict(zip(facts.parts, parts)), **facts.others), serialized_type_name=name_of(kind)
        )


@dataclasses.dataclass
class Facts:
    parts: list  # names
    others: dict


def take_apart(value):
    parts = {name: part for name, part in vars(value).items() if holds(part)}
    return list(parts.values()), Facts(list(parts), {name: part for name, part in vars(value).items() if name not in parts})


def rebuild(object_kind, **attributes):
    """object_kind: a class, or its name."""
    if isinstance(object_kind, str):
        module, _, name = object_kind.partition(":")
        object_kind = getattr(importlib.import_module(module), name)
    made = object.__new__(object_kind)
    vars(made).update(attributes)
    return made


def name_of(kind):
    return f"{kind.__module__}:{kind.__qualname__}"
