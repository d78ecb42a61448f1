"""One forward pass, watched: what it returns, and which state and inputs it changed."""

import dataclasses

import torch
from torch.utils import _pytree as pytree

from . import structure
from .carried import state
from .distances import same
from .record import CONSTANTS


@dataclasses.dataclass
class Seen:
    outputs: list  # forward's result, flat, None and numbers left out
    updates: dict  # state that changed: {name: new value}
    inputs: dict  # inputs that were written to: {number among the tensors: new value}


def observe(module, arguments, keywords, context, originals=None):
    """Runs on the module and tensors themselves and may change them: pass copies to keep them.

    originals: what the tensors among the arguments are copies of, which saves another copy of each.
    """
    tensors = [leaf for leaf in pytree.tree_leaves((arguments, keywords)) if isinstance(leaf, torch.Tensor)]
    state_before = {name: tensor.detach().clone() for name, tensor in state(module).items()}
    inputs_before = originals or [tensor.clone() for tensor in tensors]
    with torch.no_grad():
        with context, torch.compiler.set_stance("force_eager"):  # what torch.compile wraps runs as what it wraps
            result = module(*arguments, **keywords)
        after = state(module)
        updates = {name: after[name].detach() for name, old in state_before.items()
                   if name in after and not same(old, after[name])}
        inputs = {i: new for i, (old, new) in enumerate(zip(inputs_before, tensors)) if not same(old, new)}
    return Seen([leaf for leaf in structure.leaves(result) if not isinstance(leaf, CONSTANTS)], updates, inputs)
