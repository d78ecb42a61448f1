"""What forward changes: in its module, and in what its code holds beside it (globals, variables of closures, attributes of classes).
Buffers that it assigns become updates of the graph; anything else that later calls depend on (a counter, a list that grows) can't be
carried by a program, and is refused by name."""

import collections
import contextlib
import copy
import functools
import itertools
import logging
import os
import random
import sys
import sysconfig
import types
import weakref

import torch
from torch.utils import _pytree as pytree

from .. import FOLDER
from ..base.errors import TaskError

AND_READS = "and reads it in the next call"
REFUSED_FIX = (
    "A program carries tensors from call to call, not Python values: keep it in a buffer of fixed shape (register_buffer) that "
    "forward assigns or writes to, or make it an argument and a result of forward."
)


@contextlib.contextmanager
def watched(model):
    """Inside, a buffer that forward assigns (self.mean = …) is written to when forward ends: torch.export records writes to
    the buffers of every module, and assignments to those of the outermost alone. Yields the names of whatever else forward changes,
    which is undone."""
    changed, before = {}, {}

    def remember(module, arguments):
        before["draws"] = draws()
        before["attributes"] = Attributes(model)
        before["buffers"] = {(part, name): tensor for part in model.modules() for name, tensor in part._buffers.items() if tensor is not None}

    def settle(module, arguments, result):
        old = before["buffers"]
        now = {(part, name): part._buffers.get(name) for part, name in old}
        assigned = {place: value for place, value in now.items() if value is not old[place] and fits(value, old[place])}
        # Copies first: a new value, or the result, may be the old tensor of another buffer.
        values = {place: value.clone() for place, value in assigned.items()}
        if values:
            result = pytree.tree_map(lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, result)
        for (part, name), value in values.items():
            part._buffers[name] = old[part, name].copy_(value)
        changed.update(before["attributes"].changed())
        before["attributes"].restore()
        if draws() != before["draws"]:
            changed[DRAWS] = None
        return result

    hooks = [model.register_forward_pre_hook(remember), model.register_forward_hook(settle)]
    try:
        yield changed
    finally:
        for hook in hooks:
            hook.remove()


def drop_unread(model, program):
    """Drops updates of tensors outside the state dict that forward assigns and never reads: the map of an attention, kept for inspection,
    the weight that a hook of weight_norm makes anew."""
    beside = {f"{path}.{name}".lstrip(".") for path, part in model.named_modules() for name in part._non_persistent_buffers_set}
    targets = {spec.arg.name: spec.target for spec in program.graph_signature.input_specs if spec.target}
    for node in list(program.graph.nodes):
        if (
            node.target is torch.ops.aten.copy_.default
            and not node.users
            and set(node.args[0].users) == {node}
            and targets.get(node.args[0].name) in beside
        ):
            program.graph.erase_node(node)


def fits(new, old):
    return isinstance(new, torch.Tensor) and new.shape == old.shape and new.dtype == old.dtype


def check_history(model, changed, draw, where):
    """Raises a TaskError if what forward changed matters to later calls, and no update of the graph carries it.

    changed: names of attributes; draw(i): (positional, keyword), real tensors, others for another i; None: there are none to be had."""
    shared = Attributes(model)  # copies have the same globals, classes and closures
    try:
        if DRAWS in changed:
            check_draws(model, draw, where)
            changed = [name for name in changed if name is not DRAWS]
        if not changed:
            return
        if draw is None:
            raise refused(changed, AND_READS, where)
        first, second = copied(model, changed, where), copied(model, changed, where)
        call(first, draw(0))
        after_one = Attributes(first)
        for name, old in state(second).items():
            new = state(first).get(name)
            if fits(new, old):
                old.data.copy_(new)
        later = call(first, draw(1))
        evolving = [name for name, (old, new) in after_one.changed().items() if not is_steady(old, new)]
        if evolving:
            raise refused(evolving, "in every call", where)
        shared.restore()
        if not same(later, call(second, draw(1))):
            raise refused(changed, AND_READS, where)
    finally:
        shared.restore()


def is_steady(old, new):
    """Whether tensors, or containers of them, differ by their values alone."""
    (before, form), (after, other_form) = pytree.tree_flatten(old), pytree.tree_flatten(new)
    return form == other_form and all(fits(b, a) if isinstance(a, torch.Tensor) else alike(a, b) for a, b in zip(before, after))


DRAWS = "random numbers"  # among the names of what changed
TRIES = 4


def draws():
    """What Python's and NumPy's random numbers depend on."""
    numpy = sys.modules.get("numpy")
    return random.getstate(), str(numpy.random.get_state()[1:]) if numpy else None


def check_draws(model, draw, where):
    """Raises a TaskError if results depend on Python's or NumPy's random numbers, which would be the same in every call of a program."""
    numpy = sys.modules.get("numpy")
    kept = random.getstate(), numpy and numpy.random.get_state()
    inputs = draw and draw(0)
    results = []
    for seed in range(TRIES if draw else 0):
        random.seed(seed)
        if numpy:
            numpy.random.seed(seed)
        results.append(call(copied(model, [DRAWS], where), inputs))
    random.setstate(kept[0])
    if numpy:
        numpy.random.set_state(kept[1])
    if not draw or not all(same(results[0], other) for other in results):
        raise TaskError(
            "state",
            "forward draws from Python's or NumPy's random numbers, which a program cannot do",
            where,
            "Draw with torch.rand, or draw once, in the constructor. If only training does this, use eval mode: --eval, or model.eval() in Python.",
        )


def copied(model, changed, where):
    try:
        return copy.deepcopy(model)
    except Exception as error:
        raise refused(changed, AND_READS, where) from error


def call(model, inputs):
    torch.manual_seed(0)
    arguments, keywords = pytree.tree_map(lambda leaf: leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf, inputs)
    with torch.no_grad(), torch.compiler.set_stance("force_eager"):
        return [leaf.clone() for leaf in pytree.tree_leaves(model(*arguments, **keywords)) if isinstance(leaf, torch.Tensor)]


def same(a, b):
    return len(a) == len(b) and all(x.shape == y.shape and torch.allclose(x, y, rtol=1e-5, atol=1e-6, equal_nan=True) for x, y in zip(a, b))


def state(model):
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def refused(names, how, where):
    listed = ", ".join(repr(name) for name in names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return TaskError("state", f"forward changes {listed} {how}, which a program cannot do", where, REFUSED_FIX)


MOST = 200_000  # places: a model's modules and settings, not its data
OPAQUE = (
    torch.Tensor,
    torch.Generator,
    torch.dtype,
    torch.device,
    logging.Logger,
    types.BuiltinFunctionType,
    str,
    bytes,
    int,
    float,
    complex,
    bool,
    type(None),
)


class Attributes:
    """What the attributes of `root` hold now, and what the code of its classes and functions holds, as deep as containers and plain objects
    go: shows what a call changes there, and undoes it."""

    def __init__(self, root):
        self.containers, self.ids, left, code = [], {}, [("", root)], []
        while (left or code) and len(self.containers) < MOST:
            name, owner = (left or code).pop()  # code last, so that attributes of the model have their own names
            entries = entries_of(owner)
            if entries is None or id(owner) in self.ids:
                continue
            self.ids[id(owner)] = owner  # kept alive, so that no other object takes its id
            self.containers.append((name, owner, entries))
            left.extend((joined(name, key), value) for key, value in entries.items() if not isinstance(value, OPAQUE))
            code.extend((kind.__name__, kind) for kind in type(owner).__mro__)

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
            elif not isinstance(owner, FIXED):
                for key in now:
                    if key not in before:
                        drop(owner, key)
                for key, value in before.items():
                    if key not in now or now[key] is not value:
                        put(owner, key, value)


WRAPPED = (property, staticmethod, classmethod, functools.cached_property)
ITERATORS = (itertools.count, itertools.cycle, types.GeneratorType)
CODE = (type, types.ModuleType, types.FunctionType, types.MethodType)
CACHED = type(functools.lru_cache(int))
FIXED = (tuple, types.MethodType, functools.partial, weakref.ref, *WRAPPED, *ITERATORS)


def put(owner, key, value):
    if isinstance(owner, types.FunctionType):
        cell = cells_of(owner).get(key)
        if cell is not None:
            cell.cell_contents = value
        elif key in vars(owner):
            vars(owner)[key] = value
        elif key in owner.__globals__:
            owner.__globals__[key] = value
    elif isinstance(owner, dict):
        owner[key] = value
    elif isinstance(owner, CACHED):
        owner.cache_clear()
    elif isinstance(owner, type) or key in slots_of(owner):
        setattr(owner, key, value)
    else:
        vars(owner)[key] = value


def drop(owner, key):
    if isinstance(owner, dict):
        del owner[key]
    elif isinstance(owner, type) or key in slots_of(owner):
        delattr(owner, key)
    elif isinstance(owner, types.FunctionType):
        (vars(owner) if key in vars(owner) else owner.__globals__).pop(key, None)
    else:
        del vars(owner)[key]


def slots_of(owner):
    names = [name for kind in type(owner).__mro__ if is_of_user(kind) for name in vars(kind).get("__slots__", ())]
    return [name for name in names if name not in ("__dict__", "__weakref__") and hasattr(owner, name)]


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
    if isinstance(owner, types.MethodType):
        return {"__self__": owner.__self__, "__func__": owner.__func__}
    if isinstance(owner, CODE):
        return entries_of_code(owner) if is_of_user(owner) else None
    if isinstance(owner, CACHED):
        return {"cache": owner.cache_info().currsize, **vars(owner)} if is_of_user(owner) else None
    if isinstance(owner, functools.partial):
        return {"func": owner.func, "args": owner.args, "keywords": owner.keywords}
    if isinstance(owner, WRAPPED):
        return {part: getattr(owner, part, None) for part in ("fget", "__func__", "func")}
    if isinstance(owner, weakref.ref):
        return {"": owner()}
    if isinstance(owner, types.GeneratorType):
        return {"line": owner.gi_frame and owner.gi_frame.f_lasti}
    if isinstance(owner, ITERATORS):
        return {"place": repr(owner.__reduce__())}
    held = {name: getattr(owner, name) for name in slots_of(owner)}
    return {**held, **vars(owner)} if hasattr(owner, "__dict__") else held or None


def entries_of_code(owner):
    """Variables that a function reads beside its own, attributes of a class, globals of a module."""
    if not isinstance(owner, types.FunctionType):
        return {key: value for key, value in vars(owner).items() if not key.startswith("__") or isinstance(value, types.FunctionType)}
    defaults = {f"default {i}": value for i, value in enumerate((*(owner.__defaults__ or ()), *(owner.__kwdefaults__ or {}).values()))}
    seen = {name: owner.__globals__[name] for name in names_of(owner.__code__) if name in owner.__globals__}
    for name, cell in cells_of(owner).items():
        with contextlib.suppress(ValueError):  # empty
            seen[name] = cell.cell_contents
    return {**vars(owner), **defaults, **seen}


def cells_of(function):
    return dict(zip(function.__code__.co_freevars, function.__closure__ or ()))


def names_of(code):
    """All names in a function's code, and in the functions in it."""
    inner = [name for part in code.co_consts if isinstance(part, types.CodeType) for name in names_of(part)]
    return dict.fromkeys([*code.co_names, *inner])


LIBRARIES = (sysconfig.get_paths()["stdlib"] + os.sep, os.path.dirname(torch.__file__), FOLDER)


def is_of_user(thing):
    """Whether a function, a class or a module is no library's: those keep no state of a model in their code, and are large."""
    name = thing.__name__ if isinstance(thing, types.ModuleType) else getattr(thing, "__module__", None)
    if name in sys.builtin_module_names or str(name).partition(".")[0] == "torch":  # torch.ops.NAME is in no file
        return False
    file = getattr(sys.modules.get(name), "__file__", None) or ""
    return not file.startswith(LIBRARIES) and "site-packages" not in file and "dist-packages" not in file


def alike(old, new):
    if old is new:
        return True
    if isinstance(old, OPAQUE + CODE) or isinstance(new, OPAQUE + CODE):
        plain = not isinstance(old, torch.Tensor) and not isinstance(new, torch.Tensor)
        return plain and type(old) is type(new) and (old == new or old != old and new != new)
    old, new = entries_of(old), entries_of(new)
    return old is not None and new is not None and old.keys() == new.keys() and all(alike(old[key], new[key]) for key in old)


def joined(name, key):
    if key in ("_modules", "_buffers", "_parameters"):
        return name
    return f"{name}.{key}" if name else str(key)
