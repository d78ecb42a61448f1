"""Sizes that change from call to call: what a task says of them, and the task at other sizes."""

import inspect

import torch
from torch.utils import _pytree as pytree

from ..base.errors import TaskError
from . import where

FIX = 'Write it as torch.export has it: return {"x": {0: torch.export.Dim("batch", min=1, max=64)}}, or a tuple ("batch", 1, 64) in the Dim\'s place.'


def described(task, declared=None):
    """[{"name", "least", "most", "multiple", "places": [[input, dim], …]}, …] of get_dynamic_shapes(), or of `declared`."""
    if declared is None:
        declare = getattr(task.module, "get_dynamic_shapes", None)
        if declare is None:
            return []
        with task.stage("sizes", "get_dynamic_shapes() failed"):
            declared = declare()
    positional, keyword = task.make_inputs()
    names = list(task.forward_signature().bind(*positional, **keyword).arguments)
    try:
        return of_arguments(declared, names, positional, keyword)
    except TaskError as error:
        error.where = error.where or where.of_function(getattr(task.module, "get_dynamic_shapes", None) or task.module.get_inputs)
        raise


def of_arguments(declared, names, positional, keyword):
    """The same of a call whose arguments have these names in forward."""
    arguments = (tuple(positional), dict(keyword))
    if not isinstance(declared, dict):
        declared = dict(zip(names, declared, strict=False)) if isinstance(declared, (list, tuple)) else refuse(f"it is {type(declared).__name__}")
    if unknown := [name for name in declared if name not in names]:
        refuse(f"forward takes no '{unknown[0]}' here, but {', '.join(names)}")
    numbers = iter(range(1 << 30))
    numbered = pytree.tree_map(lambda leaf: next(numbers) if isinstance(leaf, torch.Tensor) else None, arguments)
    by_name = {**dict(zip(names, numbered[0], strict=False)), **numbered[1]}
    values = {**dict(zip(names, arguments[0], strict=False)), **arguments[1]}
    found = {}
    for name, spec in declared.items():
        collect(name, spec, by_name[name], values[name], found)
    return list(found.values())


def collect(name, spec, number, value, found):
    if spec is None:
        return
    if isinstance(value, torch.Tensor):
        sizes = spec.items() if isinstance(spec, dict) else enumerate(spec)
        for dim, size in sizes:
            if not -value.dim() <= dim < value.dim():
                refuse(f"'{name}' has {value.dim()} dimensions, and no dimension {dim}")
            add(name, size, [number, dim % value.dim()], found)
    elif isinstance(value, dict) and isinstance(spec, dict):
        for key, inner in spec.items():
            if key not in value:
                refuse(f"'{name}' has no '{key}'")
            collect(f"{name}[{key!r}]", inner, number[key], value[key], found)
    elif isinstance(value, (list, tuple)) and isinstance(spec, (list, tuple)) and len(value) == len(spec):
        for i, inner in enumerate(spec):
            collect(f"{name}[{i}]", inner, number[i], value[i], found)
    else:
        refuse(f"'{name}' is {type(value).__name__}, which has no sizes of that form")


def add(name, size, place, found):
    if size is None or isinstance(size, int) or str(size).endswith("STATIC"):
        return
    least, most, multiple, called = range_of(name, size)
    if not called.isidentifier() or not called.isascii():
        refuse(f"'{called}' is no name for a size")
    if not 0 < least <= most or most // multiple * multiple < least:
        refuse(f"{called} is from {least} to {most}")
    entry = found.setdefault(called, {"name": called, "least": least, "most": most, "multiple": multiple, "places": []})
    if (entry["least"], entry["most"], entry["multiple"]) != (least, most, multiple):
        refuse(f"{called} is declared with two ranges")
    entry["places"].append(place)


def range_of(name, size):
    """(least, most, multiple, name) of a Dim, of a Dim times a number, or of a tuple."""
    if isinstance(size, (list, tuple)) and 3 <= len(size) <= 4 and isinstance(size[0], str):
        return int(size[1]), int(size[2]), int(size[3]) if len(size) == 4 else 1, size[0]
    root = getattr(size, "root", size)
    called, most = getattr(root, "__name__", None), getattr(root, "max", None)
    if not isinstance(called, str) or not isinstance(most, int):
        refuse(f"'{name}' has a size without a name and a range: {size}")
    if most >= 1 << 48:
        refuse(f"{called} has no largest size")
    if root is size:
        return max(1, int(size.min)), most, 1, called
    if size.fn(0) != 0:
        refuse(f"'{name}' has a size that is {size}: only a Dim, or one times a number, can be told apart")
    multiple = int(size.fn(1))
    return max(1, int(root.min)) * multiple, most * multiple, multiple, called


def refuse(message):
    raise TaskError("sizes", f"get_dynamic_shapes(): {message}", "", FIX)


def at(file, sizes, places):
    """What a task at these sizes defines: the names of the task in `file`, with get_inputs() resized.

    places: {name: [[input, dim], …]}. A get_inputs() that takes a size by name is asked for it.
    """
    from .task import load_module

    module = load_module(file)
    names = {name: value for name, value in vars(module).items() if not name.startswith("__")}
    names.pop("exported", None)  # of other sizes
    return {**names, "get_inputs": inputs_at(names["get_inputs"], sizes, places)}


def inputs_at(make, sizes, places):
    taken = {name: size for name, size in sizes.items() if name in inspect.signature(make).parameters}
    return lambda: resized(make(**taken), sizes, places)


def resize(task, sizes, places):
    """The task's get_inputs() gives these sizes from now on."""
    module = task.module
    module.stitchcuda_inputs = make = getattr(module, "stitchcuda_inputs", module.get_inputs)
    module.get_inputs = inputs_at(make, sizes, places) if sizes else make


def resized(inputs, sizes, places):
    wanted = {}
    for name, all_of_it in places.items():
        for number, dim in all_of_it:
            wanted.setdefault(number, {})[dim] = sizes[name]
    numbers = iter(range(1 << 30))
    return pytree.tree_map(lambda leaf: fit(leaf, wanted.get(next(numbers), {})) if isinstance(leaf, torch.Tensor) else leaf, inputs)


def fit(tensor, wanted):
    """The tensor with other sizes, of its own values: numbers drawn from among them, anything else repeated."""
    shape = [wanted.get(dim, size) for dim, size in enumerate(tensor.shape)]
    if shape == list(tensor.shape) or tensor.numel() == 0:
        return tensor if shape == list(tensor.shape) else tensor.new_zeros(shape)
    if tensor.is_floating_point():
        count = torch.Size(shape).numel()
        return tensor.reshape(-1)[torch.randint(tensor.numel(), (count,), device=tensor.device)].reshape(shape)
    for dim, size in wanted.items():
        tensor = tensor.index_select(dim, torch.arange(size, device=tensor.device) % tensor.shape[dim])
    return tensor
