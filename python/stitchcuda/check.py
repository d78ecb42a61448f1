"""The program against the model, once, on the example: were the right tensors bound to the right places?

Whether it computes well was judged elsewhere, against float64 on other inputs. This finds what only this process can
get wrong, so the limit is wide.
"""

import torch
from torch.utils import _pytree as pytree

from stitchcuda_torch.export.carried import Attributes

from .errors import StitchError

LIMITS = {"strict": 1e-3, "default": 2e-2, "tf32": 2e-2, "half": 5e-2}


def check(fast, model, arguments, keywords, numerics):
    """The largest relative L2 distance of the outputs; StitchError where one is too far off."""
    generator = torch.get_rng_state()
    state = {name: tensor.detach().clone() for name, tensor in model.named_buffers()}  # a forward pass may change them
    attributes = Attributes(model)

    def restore():
        attributes.restore()
        with torch.no_grad():
            for name, tensor in model.named_buffers():
                if not torch.equal(tensor, state[name]):  # a write counts as a change of the weights
                    tensor.copy_(state[name])

    try:
        with torch.no_grad():
            expected = leaves(model(*copies(arguments), **copies(keywords)))
            restore()
            seen = leaves(fast(*copies(arguments), **copies(keywords)))
            restore()
            worst = largest(expected, seen)
            if worst <= LIMITS[numerics]:
                return worst
            # A model that multiplies every rounding error is as far from itself.
            nudged = leaves(model(*nudge(arguments), **nudge(keywords)))
            restore()
            if worst <= 4 * largest(expected, nudged):
                return worst
    finally:
        torch.set_rng_state(generator)
    raise StitchError(
        f"the program's result is {worst:.2g} (relative L2) away from the model's on the example, more than {LIMITS[numerics]}",
        "please report this with the model; until then use PyTorch",
    )


def copies(values):
    return pytree.tree_map(lambda leaf: leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf, values)


def nudge(values):
    """TF32's rounding of every input."""

    def change(leaf):
        if not isinstance(leaf, torch.Tensor) or not leaf.is_floating_point():
            return leaf
        return leaf.detach() * (1 + 2**-11 * torch.randn_like(leaf))

    return pytree.tree_map(change, values)


def leaves(result):
    from stitchcuda_torch.task import structure

    return [leaf for leaf in structure.leaves(result) if isinstance(leaf, torch.Tensor)]


def largest(expected, seen):
    if len(expected) != len(seen):
        raise StitchError(f"the program gives {len(seen)} tensors, the model {len(expected)}")
    return max([distance(a, b) for a, b in zip(expected, seen)], default=0.0)


def distance(a, b):
    if a.shape != b.shape or a.dtype is not b.dtype:
        raise StitchError(f"the program gives {b.dtype}{list(b.shape)}, the model {a.dtype}{list(a.shape)}")
    if a.numel() == 0:
        return 0.0
    if not a.is_floating_point():
        return float((a != b).double().mean())
    a, b = a.double(), b.double()
    same = (a == b) | (a.isnan() & b.isnan())  # infinities among them
    difference = torch.where(same, 0.0, a - b).norm()
    size = torch.where(a.isfinite(), a, 0.0).norm()
    return float(difference / size) if size > 0 else float(difference)
