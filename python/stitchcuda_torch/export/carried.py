"""What forward changes in its module. Buffers that it assigns become updates of the graph; anything else that later calls depend on
(a counter, a list that grows) can't be carried by a program, and is refused by name."""

import collections
import contextlib
import copy
import types

import torch
from torch.utils import _pytree as pytree

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
    evolving = [name for name, (old, new) in after_one.changed().items() if not (isinstance(old, torch.Tensor) and fits(new, old))]
    if evolving:
        raise refused(evolving, "in every call", where)
    if not same(later, call(second, draw(1))):
        raise refused(changed, AND_READS, where)


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
    """What the attributes of `root` hold now, as deep as containers and plain objects go: shows what a call changes there, and undoes it."""

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
