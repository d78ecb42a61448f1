"""What a module computes, known without exporting it: what it consists of, its code and what that reads, how it is called.

Weights count by their form alone, as in a graph; whatever else the exporter may have looked at (known.py) counts by its value. Objects of
a kind that is not known here have no fingerprint, and their model is exported anew.
"""

import enum
import functools
import hashlib
import logging
import os
import pathlib
import sys
import sysconfig
import types

import torch

from stitchcuda_torch.export.known import FEW

PLAIN = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device, torch.layout, torch.memory_format, pathlib.PurePath)
MOST_BYTES = 64 << 20  # of tensors that count by their values
LIBRARIES = tuple({os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")})


MADE_BY_STATEMENT = 1 << 9  # Py_TPFLAGS_HEAPTYPE
NOT_CODE = (
    "__dict__",
    "__weakref__",
    "__doc__",
    "__module__",
    "__annotations__",
    "__abstractmethods__",
    "_abc_impl",
    "__static_attributes__",
    "__firstlineno__",
)


class Unknown(Exception):
    """An object that may be anything."""


def of(model, args, kwargs, *choices):
    """None: it has none."""
    sum = Sum()
    sum.forms.update(id(leaf) for leaf in torch.utils._pytree.tree_leaves((args, kwargs)))
    try:
        for value in (settings(), choices, model, args, kwargs):
            sum.add(value)
    except (Unknown, RecursionError):
        return None
    return sum.hexdigest()


def settings():
    """Of PyTorch, that change what a module computes."""
    return [
        torch.__version__,
        torch.get_default_dtype(),
        torch.get_float32_matmul_precision(),
        torch.backends.cudnn.allow_tf32,
        torch.are_deterministic_algorithms_enabled(),
        [(kind, torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)) for kind in ("cpu", "cuda")],
    ]


class Sum:
    def __init__(self):
        self.sum = hashlib.sha256()
        self.seen = {}  # id: (number, object), which stays alive
        self.bytes = 0
        self.forms = set()  # ids of tensors that count by their form

    def hexdigest(self):
        return self.sum.hexdigest()

    def say(self, *words):
        self.sum.update(repr(words).encode())

    def add(self, value):
        if isinstance(value, enum.Enum):
            self.say("enum", type(value).__qualname__, value.name)
        elif isinstance(value, PLAIN):
            self.say(type(value).__name__, value)
        elif id(value) in self.seen:
            self.say("again", self.seen[id(value)][0])
        else:
            self.seen[id(value)] = len(self.seen), value
            self.add_new(value)

    def add_new(self, value):
        for kind, add in KINDS:
            if isinstance(value, kind):
                return add(self, value)
        self.add_object(value)

    def add_each(self, values):
        self.say(type(values).__qualname__, len(values))
        for value in values:
            self.add(value)

    def add_set(self, values):
        if not all(isinstance(value, PLAIN) for value in values):
            raise Unknown
        self.say("set", sorted(map(repr, values)))

    def add_dict(self, values):
        self.add_each([part for item in values.items() for part in item])
        if type(values) is not dict:
            self.add(type(values))

    def add_tensor(self, tensor):
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer) or tensor.layout is not torch.strided:
            raise Unknown
        self.say(type(tensor).__name__, tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.device.type, tensor.requires_grad)
        if isinstance(tensor, torch.nn.Parameter) or id(tensor) in self.forms:
            return
        self.bytes += tensor.numel() * tensor.element_size()
        if self.bytes > MOST_BYTES or tensor.device.type == "meta":
            raise Unknown
        self.sum.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())

    def add_torch_module(self, module):
        held = [*module._buffers.values(), *(value for value in vars(module).values() if isinstance(value, torch.Tensor))]
        self.forms.update(id(tensor) for tensor in held if tensor is not None and tensor.is_floating_point() and tensor.numel() > FEW)
        self.add_object(module)

    def add_function(self, function):
        if self.add_of_library(function):
            return
        self.add((function.__code__, function.__defaults__, function.__kwdefaults__, function.__dict__))
        self.add_each([cell.cell_contents for cell in function.__closure__ or ()])
        for name in sorted(names_in(function.__code__) & function.__globals__.keys()):
            self.say(name)
            self.add(function.__globals__[name])

    def add_code(self, code):
        self.say(code.co_name, code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_flags)
        self.add_each(code.co_consts)

    def add_class(self, kind):
        if self.add_of_library(kind):
            return
        self.say(kind.__qualname__)
        self.add_each(kind.__bases__)
        for name, value in vars(kind).items():
            if name not in NOT_CODE:
                self.say(name)
                self.add(value)

    def add_of_library(self, one):
        """What was installed changes with its file. A library's function inside another one has values of its own."""
        module = sys.modules.get(one.__module__ or "")
        if module is None or not is_of_library(module):
            return False
        self.add(module)
        self.say(one.__qualname__)
        return isinstance(one, type) or "<locals>" not in one.__qualname__

    def add_method(self, method):
        self.add(method.__func__)
        self.add(method.__self__)

    def add_partial(self, partial):
        self.add((partial.func, partial.args, partial.keywords))

    def add_descriptor(self, one):
        self.add([getattr(one, name, None) for name in ("__func__", "fget", "fset", "func")])

    def add_builtin(self, function):
        owner = getattr(function, "__self__", None)
        if owner is not None and not isinstance(owner, (types.ModuleType, type)):
            raise Unknown
        self.say(function.__module__, function.__qualname__)

    def add_module(self, module):
        self.say(module.__name__)
        file = getattr(module, "__file__", None)
        if file and is_of_library(module):
            facts = os.stat(file)
            self.say(facts.st_size, facts.st_mtime_ns)
        elif file:
            self.sum.update(pathlib.Path(file).read_bytes())  # whatever of it is used
        elif not is_of_library(module):
            raise Unknown

    def add_logger(self, logger):
        self.say(logger.name)

    def add_object(self, value):
        """Of a class statement in Python: its attributes are all it has."""
        kind = type(value)
        if not kind.__flags__ & MADE_BY_STATEMENT or not hasattr(value, "__dict__") or any(vars(base).get("__slots__") for base in kind.__mro__):
            raise Unknown
        self.add(kind)
        self.add_dict(vars(value))


def is_of_library(module):
    file = getattr(module, "__file__", None)
    return module.__name__ != "__main__" and (file is None or os.path.realpath(file).startswith(LIBRARIES))


def names_in(code):
    found = set(code.co_names)
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            found |= names_in(one)
    return found


KINDS = (
    (torch.Tensor, Sum.add_tensor),
    (torch.nn.Module, Sum.add_torch_module),
    (torch.Size, Sum.add_each),
    ((list, tuple), Sum.add_each),
    ((set, frozenset), Sum.add_set),
    (dict, Sum.add_dict),
    (type, Sum.add_class),
    (types.FunctionType, Sum.add_function),
    (types.CodeType, Sum.add_code),
    (types.MethodType, Sum.add_method),
    (functools.partial, Sum.add_partial),
    ((staticmethod, classmethod, property, functools.cached_property), Sum.add_descriptor),
    ((types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodDescriptorType), Sum.add_builtin),
    (types.ModuleType, Sum.add_module),
    (logging.Logger, Sum.add_logger),
)
