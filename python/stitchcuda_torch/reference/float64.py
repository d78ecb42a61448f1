"""The truth: a module run in float64 where it stands, whatever precision its code asks for.

`.float()`, dtype=torch.float32 and the like are there for speed or range, not for meaning, so they are read as float64.
What code derives from its dtype as a number (torch.finfo(x.dtype).eps) keeps the value the model's own dtype gives.

Random numbers are those that the model's own precision draws from the same seed. On a GPU the numbers that a seed gives depend on
the dtype, and uniform ones do on a CPU, too. So an operator that draws is run in the model's dtype, with the same shapes and strides, and
what it drew is widened: the truth drops what the model drops.
"""

import contextlib
import dataclasses

import torch
import torch.nn.attention.bias
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from ..export.below_autograd import attention_written_out
from ..export.carried import state
from ..export.record import CONSTANTS
from ..export.replaced import replaced, without_fast_path
from ..export.trace import promote_tensor_attributes
from ..export.unread import causal_mask
from ..task import structure
from .copies import Kept, copied
from .distances import same

LOW = (torch.float32, torch.float16, torch.bfloat16)
LOW_COMPLEX = (torch.complex64, torch.complex32)
NARROW = frozenset(LOW + LOW_COMPLEX)
LEAVES = (torch.Tensor, torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Generator, int, float, complex, str, type(None))


def run_float64(module, inputs):
    """(outputs, updates): the flat list of tensors that forward returns, and {name: tensor} of the state it changed."""
    (result,) = run_calls(module, [inputs])
    return result


def run_calls(module, calls):
    """The same of several calls, one after the other."""
    native, module, results = native_dtype(module, calls[0]), widened(module), []
    for inputs in calls:
        seen = observe(module, pytree.tree_map(own_copy, tuple(inputs)), {}, float64_only(native))
        results.append(([widen(output).clone() for output in seen.outputs], {name: value.clone() for name, value in seen.updates.items()}))
    return results


def observe_float64(module, inputs, keywords=None, native=None, originals=None):
    """originals: what the inputs are copies of; then they are this run's own."""
    native = native or native_dtype(module, inputs)
    before = state(module)
    module = widened(module)
    arguments, keywords = pytree.tree_map(widen if originals else own_copy, (tuple(inputs), keywords or {}))
    del inputs
    seen = observe(module, arguments, keywords, float64_only(native), originals, before)
    seen.outputs = pytree.tree_map(widen, seen.outputs)
    return seen


def widened(module):
    """A copy in float64."""
    module = copied(module, own_copy)
    promote_tensor_attributes(module)
    module.double()
    widen_complex_state(module)
    return module


def native_dtype(module, inputs):
    """The precision the model was written for: its first floating-point weight's, else its first such input's."""
    tensors = [*module.parameters(), *module.buffers(), *pytree.tree_leaves(inputs)]
    return next((t.dtype for t in tensors if isinstance(t, torch.Tensor) and t.is_floating_point()), torch.float32)


def own_copy(leaf):
    """Forward may write into its inputs; the caller's stay as they are."""
    if not isinstance(leaf, torch.Tensor):
        return leaf
    return widen(leaf.detach()) if leaf.dtype in LOW + LOW_COMPLEX else leaf.detach().clone()


def widen(leaf):
    if isinstance(leaf, torch.Tensor) and leaf.dtype in LOW:
        return leaf.double()
    if isinstance(leaf, torch.Tensor) and leaf.dtype in LOW_COMPLEX:
        return leaf.to(torch.complex128)
    if isinstance(leaf, torch.dtype) and leaf in LOW_COMPLEX:
        return torch.complex128
    return torch.float64 if isinstance(leaf, torch.dtype) and leaf in LOW else leaf


def widen_complex_state(module):
    """What double() leaves as it is."""
    for part in module.modules():
        for tensors in (part._parameters, part._buffers):
            for name, tensor in tensors.items():
                if tensor is not None and tensor.dtype in LOW_COMPLEX:
                    wide = widen(tensor.detach())
                    tensors[name] = torch.nn.Parameter(wide, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else wide


@dataclasses.dataclass
class Seen:
    outputs: list  # forward's result, flat, None and numbers left out
    updates: dict  # state that changed: {name: new value}
    inputs: dict  # inputs that were written to: {number among the tensors: new value}


def observe(module, arguments, keywords, context, originals=None, before=None):
    """Runs on the module and tensors themselves and may change them: pass copies to keep them.

    originals, before: what the tensors among the arguments and in the module's state are copies of, which saves another copy of each.
    """
    tensors = [leaf for leaf in pytree.tree_leaves((arguments, keywords)) if isinstance(leaf, torch.Tensor)]
    state_before = Kept(state(module), before or {})
    inputs_before = originals or [tensor.clone() for tensor in tensors]
    with torch.no_grad():
        with context, torch.compiler.set_stance("force_eager"):  # what torch.compile wraps runs as what it wraps
            result = module(*arguments, **keywords)
        after = state(module)
        updates = {name: after[name].detach() for name in state_before.changed(after)}
        inputs = {i: new for i, (old, new) in enumerate(zip(inputs_before, tensors)) if not same(old, new)}
    return Seen([leaf for leaf in structure.leaves(result) if not isinstance(leaf, CONSTANTS)], updates, inputs)


@contextlib.contextmanager
def float64_only(native):
    default, finfo = torch.get_default_dtype(), torch.finfo
    # A subclass of tensors is not made where a mode sees its memory; what it stands for is.
    own_mask = replaced(torch.nn.attention.bias, "CausalBias", causal_mask)
    own_finfo = replaced(torch, "finfo", lambda dtype=torch.float64: finfo(native if dtype == torch.float64 else dtype))
    torch.set_default_dtype(torch.float64)
    try:
        with own_finfo, own_mask, without_fast_path(), torch.compiler.set_stance("force_eager"), attention_written_out():
            with WidenCalls(native), WidenOperators(native) as operators:
                yield operators
    finally:
        torch.set_default_dtype(default)


DTYPE = torch.Tensor.dtype.__get__
RMS_NORMS = (torch.rms_norm, torch.nn.functional.rms_norm, torch.ops.aten.rms_norm.default)  # the last in exported programs


class WidenCalls(TorchFunctionMode):
    """Python's calls: torch.tensor(0.1, dtype=torch.float32) would round before any operator is dispatched."""

    def __init__(self, native):
        super().__init__()
        self.native = native

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if function == DTYPE:
            dtype = function(*args)
            return self.native if dtype == torch.float64 else dtype
        if function in RMS_NORMS:
            args, kwargs = rms_norm_arguments(*args, **kwargs), {}
            args = (*args[:3], rms_norm_eps(self.native) if args[3] is None else args[3])
        target = converted_to(function, args, kwargs)
        if target and args[0].dtype == torch.float64:
            return args[0] if target == self.native else args[0].clone()
        if not reinterprets(function, args) and may_have((args, kwargs), is_narrow_dtype):
            args, kwargs = pytree.tree_map(narrow_dtypes, (args, kwargs))
        return function(*args, **kwargs)


CASTS = {
    torch.Tensor.float: torch.float32,
    torch.Tensor.half: torch.float16,
    torch.Tensor.bfloat16: torch.bfloat16,
    torch.Tensor.double: torch.float64,
}


def converted_to(function, args, kwargs):
    """The floating dtype that x.float(), x.to(dtype) or x.type(dtype) converts to, where nothing else is asked. A conversion to the dtype that
    a tensor has is the tensor itself, and writing to it writes to the tensor."""
    if kwargs:
        return None
    if function in CASTS and len(args) == 1:
        return CASTS[function]
    dtype = args[1] if function in (torch.Tensor.to, torch.Tensor.type) and len(args) == 2 else None
    return dtype if dtype in (*LOW, torch.float64) else None


class WidenOperators(TorchDispatchMode):
    """Every operator below: dtype arguments, and tensors that were made before or outside (constants of a module)."""

    def __init__(self, native):
        super().__init__()
        self.native = native
        self.leftovers = []  # operators whose result was still narrow; tests want none

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is not torch.ops.aten.view.dtype and may_have((args, kwargs), is_narrow):
            convert = narrow_dtypes if function._schema.is_mutable else widen
            args, kwargs = pytree.tree_map(convert, (args, kwargs))
        if draws_numbers(function):
            result = draw_as(function, args, kwargs, self.native)
        else:
            result = EXACT.get(function, function)(*args, **kwargs)
        if may_have((result,), is_narrow):
            self.leftovers.append(str(function))
        return result


def hardsigmoid(x):
    return (x + 3).clamp(0, 6) / 6


def hardswish(x):
    return x * hardsigmoid(x)


def grouped_mm(a, b, offs=None, bias=None, out_dtype=None):
    """Products of groups: rows, columns or the depth are cut at the offsets."""
    if a.dim() == 3 and b.dim() == 3:
        return a @ b
    starts, ends = [0, *offs.tolist()[:-1]], offs.tolist()
    if a.dim() == 2 and b.dim() == 2:
        return torch.stack([a[:, start:end] @ b[start:end] for start, end in zip(starts, ends)])
    result = a.new_zeros(a.shape[-2], b.shape[-1])
    for group, (start, end) in enumerate(zip(starts, ends)):
        if a.dim() == 2:
            result[start:end] = a[start:end] @ b[group]
        else:
            result[:, start:end] = a[group] @ b[:, start:end]
    return result


def topk(x, k, dim=-1, largest=True, sorted=True):
    """sorted=False is any order, and each device has its own: the truth is one of them."""
    return torch.topk(x, k, dim, largest)


# CUDA's kernels multiply by a sixth that was rounded to float32: an error of 3e-8 (H200, PyTorch 2.11).
EXACT = {
    torch.ops.aten.hardsigmoid.default: hardsigmoid,
    torch.ops.aten.hardswish.default: hardswish,
    torch.ops.aten.topk.default: topk,
    torch.ops.aten._grouped_mm.default: grouped_mm,  # has no float64
    torch.ops.aten.hardsigmoid_.default: lambda x: x.copy_(hardsigmoid(x)),
    torch.ops.aten.hardswish_.default: lambda x: x.copy_(hardswish(x)),
}


def is_narrow_dtype(leaf):
    return isinstance(leaf, torch.dtype) and leaf in NARROW


def is_narrow(leaf):
    return leaf.dtype in NARROW if isinstance(leaf, torch.Tensor) else is_narrow_dtype(leaf)


def may_have(tree, such):
    """Few calls have anything to widen, and tree_map takes longer than most of them."""
    for leaf in tree:
        if isinstance(leaf, dict):
            leaf = tuple(leaf.values())
        if may_have(leaf, such) if isinstance(leaf, (list, tuple)) else such(leaf) or not isinstance(leaf, LEAVES):
            return True
    return False


def narrow_dtypes(leaf):
    return widen(leaf) if isinstance(leaf, torch.dtype) else leaf


def reinterprets(function, args):
    """x.view(torch.float32) reads the same bits as another type: not a conversion."""
    return function is torch.Tensor.view and len(args) == 2 and isinstance(args[1], torch.dtype)


def rms_norm_eps(native):
    """What eps=None means: that of the dtype PyTorch computes in, and half precision is computed in float32."""
    return 2.0**-52 if native == torch.float64 else 2.0**-23


def rms_norm_arguments(input, normalized_shape, weight=None, eps=None):
    return input, normalized_shape, weight, eps


aten = torch.ops.aten
# Without a tensor that says it, numbers are drawn in PyTorch's default dtype.
FACTORIES = (aten.rand, aten.randn, aten.normal.float_float)
# What they draw is a part of what they compute, and each dtype has a kernel of its own. Left as they are.
WITH_PRODUCTS = ("rnn", "lstm", "gru", "attention", "rrelu")


def draws_numbers(function):
    return torch.Tag.nondeterministic_seeded in function.tags and not any(word in function._schema.name for word in WITH_PRODUCTS)


def draw_as(function, args, kwargs, native):
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
