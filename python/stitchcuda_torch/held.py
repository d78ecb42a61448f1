"""A trial that stays here: its inputs and its truth are too large to be moved about, and are asked about instead."""

import math
import os

import torch

from . import distances, dtypes
from .arena import TYPES, Arena, raw
from .distances import distance
from .errors import TaskError
from .evaluate import check_carried, evaluate, named
from .transfer import PIECE, Transfer


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


def open_arena(path):
    """The orchestrator's."""
    try:
        return Arena(os.open(path, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        raise TaskError("memory", f"cannot open the shared memory {path}: {error.strerror}") from error


class Shared:
    """An arena, through which inputs go out and a candidate's outputs come in."""

    def __init__(self, arena):
        self.arena, self.transfer = arena, Transfer()

    def write(self, tensor, offset):
        flat = raw(tensor.detach().contiguous())
        if flat.numel():
            self.transfer.write(flat, self.arena.span(offset, flat.numel()))

    def holds(self, tensor, offset):
        """Whether these very bytes are there."""
        flat = raw(tensor.detach().contiguous())
        memory = self.arena.span(offset, flat.numel())
        pieces = ((memory[begin:begin + PIECE], flat[begin:begin + PIECE]) for begin in range(0, flat.numel(), PIECE))
        return all(torch.equal(self.transfer.read(there, torch.uint8, flat.device), here) for there, here in pieces)

    def reader(self, dtype, offset, shape, device):
        """Pieces of a tensor in the arena, each read once: the other process may write to it meanwhile."""
        size = dtype.itemsize
        memory = self.arena.span(offset, math.prod(shape) * size)
        return lambda begin, end: self.transfer.read(memory[begin * size:end * size], dtype, device)


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
