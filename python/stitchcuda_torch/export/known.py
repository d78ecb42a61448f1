"""Values that are known during export, though tracing hides them: ranges, masks and literals that forward creates, and tensors that
the model holds besides its parameters and buffers (in a list, a closure).

What forward reads of them (`sizes.tolist()`, `if mask.any()`) is answered; otherwise a model would be refused over constant sizes.
What a known mask selects of any tensor (`similarity[~eye]`) is selected by constant positions. Computations on held tensors are
evaluated at once, and become constants of the graph where other tensors use them.
"""

import contextlib

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils.weak import WeakIdKeyDictionary


def functions(names):
    """The functions of these names, and the tensors' methods."""
    return {getattr(place, name) for name in names.split() for place in (torch, torch.Tensor, torch.nn.functional) if hasattr(place, name)}


UNKNOWN = object()
LARGEST = 1 << 16  # elements: sizes and positions, not data
FEW = 16  # elements of a buffer of sizes, and of what isn't integers
MAKERS = {torch.arange, torch.tensor, torch.as_tensor, torch.zeros, torch.ones, torch.full, torch.eye, torch.linspace}
# The same whatever they are given.
FILLERS = {torch.zeros_like: torch.zeros, torch.ones_like: torch.ones, torch.Tensor.new_zeros: torch.zeros, torch.Tensor.new_ones: torch.ones}
SELECTIONS = {torch.Tensor.__getitem__, torch.masked_select, torch.Tensor.masked_select}
READERS = functions(
    "tolist item equal allclose is_nonzero __bool__ __int__ __index__ __float__ "
    # and those whose result has a size that depends on values
    "unique unique_consecutive nonzero masked_select repeat_interleave"
)


class KnownValues:
    def __init__(self):
        self.values = WeakIdKeyDictionary()  # traced tensor -> (its value, its version then)
        self.written = set()  # storages of held tensors that forward writes to: no constants

    def result(self, function, arguments, keywords):
        """What the function returns; UNKNOWN where it has to be traced."""
        tensors = all_tensors(arguments, keywords)
        if writes(function, keywords):
            self.written.update(tensor.untyped_storage()._cdata for tensor in tensors if is_real(tensor))
            return UNKNOWN
        if function in SELECTIONS and len(arguments) == 2 and not keywords and not is_real(arguments[0]):
            result = self.select(function, *arguments)
            if result is not UNKNOWN:
                self.note(function, arguments, keywords, result)
                return result
        if tensors and (reads(function, tensors) or any(map(self.is_held, tensors))) and all(map(self.is_known, tensors)):
            return self.compute(function, arguments, keywords)
        return UNKNOWN

    def select(self, function, x, key):
        """x[mask], by the positions where a known mask is true."""
        keys = key if isinstance(key, tuple) else (key,)
        are_masks = [isinstance(part, torch.Tensor) and part.dtype == torch.bool for part in keys]
        if not any(are_masks) or not all(part.dim() and self.is_known(part) for part, is_mask in zip(keys, are_masks) if is_mask):
            return UNKNOWN
        if function is not torch.Tensor.__getitem__:  # masked_select: of what both are broadcast to
            shape = torch.broadcast_shapes(x.shape, key.shape)
            x, keys = x.expand(shape), (self.compute(torch.broadcast_to, (key, shape), {}),)
        positions = []
        for part, is_mask in zip(keys, are_masks):
            positions += self.compute(torch.Tensor.nonzero, (part,), {}).unbind(1) if is_mask else [part]
        return x[tuple(positions)]

    def note(self, function, arguments, keywords, result):
        """Keeps the value of what was traced, if it is one of known numbers."""
        if writes(function, keywords):
            self.note_written(function, arguments, keywords)
            return
        if isinstance(result, tuple) and all(type(part) is FakeTensor for part in result):  # sort
            tensors = all_tensors(arguments, keywords)
            if tensors and all(map(self.is_known, tensors)) and all(is_small(part, LARGEST) for part in (*tensors, *result)):
                with contextlib.suppress(Exception):
                    for part, value in zip(result, self.compute(function, arguments, keywords)):
                        self.values[part] = value, part._version
            return
        if type(result) is not FakeTensor or result.is_inference() or result.is_complex() or not is_small(result, LARGEST):
            return
        tensors = all_tensors(arguments, keywords)
        with contextlib.suppress(Exception):
            if function in FILLERS:
                value = self.compute(FILLERS[function], (tuple(result.shape),), {"dtype": result.dtype})
            elif all(map(self.is_known, tensors)) if tensors else function in MAKERS:
                value = self.compute(function, arguments, keywords)
            else:
                return
            if value.shape == result.shape and value.dtype == result.dtype:
                self.values[result] = value, result._version

    def note_written(self, function, arguments, keywords):
        """mask[0, 1] = False: a known tensor stays known, if nothing else was written since. Its views are forgotten by their version."""
        target = arguments[0] if arguments else None
        if type(target) is not FakeTensor or target not in self.values or keywords.get("out") is not None:
            return
        value, version = self.values.pop(target)
        others = [tensor for tensor in all_tensors(arguments[1:], keywords) if not self.is_known(tensor)]
        if version + 1 != target._version or others:
            return
        with _disable_current_modes():
            value = value.clone()
        self.values[target] = value, target._version
        try:
            self.compute(function, arguments, keywords)
        except Exception:
            del self.values[target]

    def compute(self, function, arguments, keywords):
        arguments, keywords = pytree.tree_map(lambda leaf: self.values[leaf][0] if isinstance(leaf, FakeTensor) else leaf, (arguments, keywords))
        with _disable_current_modes():
            return function(*arguments, **keywords)

    def is_known(self, tensor):
        # Writing to a tensor, or to a view of it, raises its version.
        return self.is_held(tensor) or tensor in self.values and self.values[tensor][1] == tensor._version

    def is_held(self, tensor):
        return is_real(tensor) and is_small(tensor) and tensor.untyped_storage()._cdata not in self.written


@contextlib.contextmanager
def held_sizes(model):
    """Small integers in buffers that no state dict has (an audio codec's strides), and masks, as tensors that the model holds: what to
    try where forward reads them. Yields them, and whether any was written to meanwhile, as a function."""
    found = [
        (module, name, buffer, buffer._version)
        for module in model.modules()
        for name, buffer in module._buffers.items()
        if buffer is not None
        and name in module._non_persistent_buffers_set
        and is_real(buffer)
        and not buffer.is_inference()
        and buffer.numel() <= (LARGEST if buffer.dtype == torch.bool else FEW)
        and not buffer.is_floating_point()
        and not buffer.is_complex()
    ]
    before = {module: dict(module._buffers) for module, _, _, _ in found}
    for module, name, buffer, _ in found:
        del module._buffers[name]
        vars(module)[name] = buffer
    try:
        yield found, lambda: any(vars(module).get(name) is not buffer or buffer._version != version for module, name, buffer, version in found)
    finally:
        for module, name, _, _ in found:
            vars(module).pop(name, None)
        for module, buffers in before.items():  # in their order
            module._buffers.clear()
            module._buffers.update(buffers)


def all_tensors(arguments, keywords):
    return [leaf for leaf in pytree.tree_leaves((arguments, keywords)) if isinstance(leaf, torch.Tensor)]


def is_real(tensor):
    """While a model is traced, its parameters, buffers and inputs are fake tensors, and tensors inside vmap are wrappers."""
    return type(tensor) is torch.Tensor and not torch._is_functional_tensor(tensor) and not torch._C._functorch.is_functorch_wrapped_tensor(tensor)


def is_small(tensor, largest=None):
    largest = largest or (FEW if tensor.is_floating_point() else LARGEST)  # a quotient of sizes is a float
    return not tensor.is_complex() and all(type(n) is int for n in tensor.shape) and tensor.numel() <= largest


def reads(function, tensors):
    return function in READERS or function is torch.Tensor.__getitem__ and any(tensor.dtype == torch.bool for tensor in tensors[1:])


def writes(function, keywords):
    name = getattr(function, "__name__", "")
    in_place = name.startswith("__i") and name not in ("__index__", "__int__", "__invert__", "__iter__")  # __iadd__
    return in_place or name.endswith("_") and not name.endswith("__") or keywords.get("out") is not None or name in ("__setitem__", "__set__")
