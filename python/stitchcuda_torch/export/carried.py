"""What forward changes in its module. Buffers that it assigns become updates of the graph; anything else that later calls depend on
(a counter, a list that grows) can't be carried by a program, and is refused by name."""

import contextlib
import copy

import torch
from torch.utils import _pytree as pytree

from ..base.errors import TaskError
from .reachable import Attributes

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
