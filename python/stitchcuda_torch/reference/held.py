"""A trial that stays here: its inputs and its truth are too large to be moved about, and are asked about instead."""

import torch

from ..base import dtypes
from ..base.errors import TaskError
from ..device.arena import TYPES
from . import distances
from .distances import distance
from .evaluate import check_carried, evaluate, named


class Trial:
    """truth: a tensor for each output, float64 or integers. pytorch: the class's own integers, and floats that overflow there; None for
    others. own: all of the class's outputs, if closeness to them will be checked."""

    def __init__(self, draw, keep, truth, pytorch, own):
        self.draw, self.kept, self.truth, self.pytorch, self.own = draw, draw() if keep else None, truth, pytorch, own

    def inputs(self):
        """Drawn again wherever the device draws them: a seed is smaller than gigabytes."""
        return self.kept or self.draw()

    def output(self, number):
        if not 0 <= number < len(self.truth):
            raise TaskError("request", f"there is no output {number}")
        return self.truth[number], self.pytorch[number]

    def measure(self, read, number):
        truth, pytorch = self.output(number)
        return distance(read, truth, pytorch)

    def outside(self, read, number, tolerance):
        """The share of elements that allclose would reject beside PyTorch's own."""
        self.output(number)
        if self.own is None:
            raise TaskError("request", "PyTorch's own outputs were not kept", "", 'Ask for {"do": "hold", "own": true, …} first.')
        return distances.outside(read, self.own[number], tolerance)


def hold(loaded, draw, mode, half, seed, wanted, updates, elsewhere, keep_own=False):
    """(Trial, facts). wanted: [(name, dtype)] in the order in which outputs will be asked about."""
    inputs = draw()
    seen, facts = evaluate(loaded, inputs, "float64", half, loaded.device, seed, elsewhere)
    check_carried(seen, updates or [], loaded)
    state = {name: tensor for name, tensor, _ in loaded.state()}
    truth = [settled(choose(seen, updates, state, name), dtype) for name, dtype in wanted]
    del seen
    seen, _ = evaluate(loaded, inputs, mode, half, loaded.device, seed)
    own = [choose(seen, updates, state, name) for name, _ in wanted]
    del seen, inputs
    described, kept_own = [], []
    for (name, _), exact, value in zip(wanted, truth, own):
        if value.shape != exact.shape:
            raise TaskError("reference", f"{name} has the shape {list(exact.shape)} in float64 and {list(value.shape)} in {mode}")
        off = distance(distances.of_tensor(value), exact)
        described.append({"name": name, "shape": list(exact.shape), "pytorch": off.as_json()})
        kept_own.append(None if exact.is_floating_point() and not off.not_finite else value.detach())
    kept = [value.detach().contiguous() for value in own] if keep_own else None
    return Trial(draw, loaded.drawn_on != loaded.device, truth, kept_own, kept), {**facts, "outputs": described}


def choose(seen, updates, state, name):
    tensors = named(seen, updates, state)
    if name not in tensors:
        raise TaskError("request", f"the model gives no {name!r}")
    return tensors[name]


def settled(tensor, dtype):
    """Integers are compared as integers, floats as float64."""
    return tensor.detach().to(torch.float64 if dtype.is_floating_point else dtype).contiguous()


def parse_outputs(entries):
    """[(name, dtype)] of [[name, "f32"], …]."""
    for entry in entries:
        if not (isinstance(entry, list) and len(entry) == 2 and entry[1] in TYPES):
            raise TaskError("request", f"{entry!r} is not [name, dtype]; dtypes are: {', '.join(dtypes.NAMES.values())}")
    return [(name, TYPES[dtype]) for name, dtype in entries]


def imitations(trial, number, by, other):
    """Readers of what could be handed in for an output without computing anything."""
    truth, _ = trial.output(number)
    if by == "zeros":
        return [distances.of_number(0.0)]
    if by == "mean":
        return [distances.of_number(distances.mean(truth))]
    if by == "another":
        return [distances.of_tensor(other.output(number)[0])]
    return [distances.of_tensor(tensor) for tensor in trial.inputs() if tensor.is_floating_point() and tensor.shape == truth.shape]


IMITATIONS = ("zeros", "mean", "input", "another")
