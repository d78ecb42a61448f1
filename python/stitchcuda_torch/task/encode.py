"""How single things look in aten.json: tensors, arguments, operator names."""

import dataclasses
import math

import torch

from ..base import dtypes

# Defaults of these types are stored as bare numbers in a schema.
MEMORY_FORMATS = (torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d)
# Operators of ours stand for PyTorch's while a model is traced (export/rnn.py, export/unread.py); others than these are "input".
OVERLOADS = {"bincount": "default", "ctc_loss": "Tensor"}
SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)


@dataclasses.dataclass(frozen=True)
class Reference:
    """A tensor of the document, by name."""

    name: str


@dataclasses.dataclass(frozen=True)
class Subgraph:
    """The body of a higher-order operator."""

    module: torch.fx.GraphModule

    def __str__(self):
        return "graph"


def tensor(value):
    return {"dtype": dtypes.name(value.dtype), "shape": [int(n) for n in value.shape], "stride": [int(n) for n in _stride(value)]}


def argument(value):
    if isinstance(value, Reference):
        return {"value": value.name}
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, SYMBOLS):
        return {"other": str(value)}
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, complex):
        return {"complex": [argument(value.real), argument(value.imag)]}
    if isinstance(value, torch.dtype):
        return {"dtype": dtypes.name(value)}
    if isinstance(value, (list, tuple)):
        return [argument(item) for item in value]
    return {"other": str(value)}


def plain(encoded):
    """The Python value of an argument that holds no tensor."""
    if isinstance(encoded, dict) and "float" in encoded:
        return float(encoded["float"])
    if isinstance(encoded, dict) and "dtype" in encoded:
        return dtypes.by_name(encoded["dtype"])
    return encoded


def default(schema_argument):
    value = schema_argument.default_value if schema_argument.has_default_value() else None
    if isinstance(value, int) and "MemoryFormat" in str(schema_argument.real_type):
        return MEMORY_FORMATS[value]
    return value


def operator_name(target):
    if isinstance(target, torch._ops.OpOverload):
        namespace, _, name = target._schema.name.partition("::")
        return f"aten.{name}.{OVERLOADS.get(name, 'input')}" if namespace == "stitchcuda" else str(target)
    if isinstance(target, torch._ops.HigherOrderOperator):
        return f"higher_order.{target.name()}"
    return f"{getattr(target, '__module__', None) or 'python'}.{getattr(target, '__name__', target)}"


def is_symbolic(value):
    """Whether a result has a size or value that isn't known before the program runs."""
    if isinstance(value, torch.Tensor):
        return any(isinstance(n, torch.SymInt) and not n.node.is_constant() for n in (*value.shape, *_stride(value)))
    if isinstance(value, (list, tuple)):
        return any(is_symbolic(item) for item in value)
    return isinstance(value, SYMBOLS)


def _stride(value):
    return value.stride() if value.layout == torch.strided else ()
