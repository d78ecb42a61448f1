"""Back-to-back calls of a candidate, each on inputs it hasn't seen, with outputs that this process reads.

Inputs are drawn into private memory and revealed by one copy; outputs are read by one copy. The caller's clock runs from before
the first copy to after the second.
"""

import math

import torch

from ..device.arena import raw
from .shared import Shared

SHARED_BITS = 20


class Series:
    """Over a device arena: inputs of call i at inputs_at + i * inputs_step, outputs alike."""

    def __init__(self, arena, device, slots, inputs_at, inputs_step, outputs_at, outputs_step):
        self.arena, self.device, self.slots = arena, device, slots
        self.inputs_at, self.inputs_step, self.outputs_at, self.outputs_step = inputs_at, inputs_step, outputs_at, outputs_step
        self.staged = torch.zeros(slots * inputs_step, dtype=torch.uint8, device=device)
        self.taken = torch.zeros(slots * outputs_step, dtype=torch.uint8, device=device)
        self.kept, self.forms = {}, []

    def stage(self, slot, tensors, offsets):
        self.forms = [(tensor.dtype, tensor.shape, offset) for tensor, offset in zip(tensors, offsets)]
        for tensor, offset in zip(tensors, offsets):
            flat = raw(tensor.detach().contiguous())
            begin = slot * self.inputs_step + offset
            self.staged[begin:begin + flat.numel()].copy_(flat)

    def reveal(self, count):
        """Outputs of earlier calls are gone before."""
        self.arena.span(self.outputs_at, count * self.outputs_step).fill_(255)
        self.shown(count).copy_(self.staged[:count * self.inputs_step])
        self.wait()

    def take(self, count):
        size = count * self.outputs_step
        self.taken[:size].copy_(self.arena.span(self.outputs_at, size))
        self.wait()

    def intact(self, count):
        """Whether inputs are what was shown."""
        return torch.equal(self.shown(count), self.staged[:count * self.inputs_step])

    def inputs(self, slot):
        """What call `slot` was about, out of this process's own memory."""
        begin = slot * self.inputs_step
        return [part(self.staged, begin + offset, dtype, shape) for dtype, shape, offset in self.forms]

    def output(self, slot, dtype, shape, offset):
        return part(self.taken, slot * self.outputs_step + offset, dtype, shape)

    def keep(self, slot, number):
        self.kept[number] = Kept(self.taken[slot * self.outputs_step:(slot + 1) * self.outputs_step].clone())

    def shown(self, count):
        return self.arena.span(self.inputs_at, count * self.inputs_step)

    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def close(self):
        self.staged = self.taken = None
        self.kept = {}
        self.arena.close()


def part(flat, begin, dtype, shape):
    return flat[begin:begin + math.prod(shape) * dtype.itemsize].view(dtype).reshape(shape)


def sampled(tensor, seed):
    """A million elements, evenly spread from a secret one on; all of fewer."""
    step = max(1, tensor.numel() // MOST_COMPARED)
    return tensor.reshape(-1)[seed % step::step]


def strangeness(value, expected):
    """How far from what PyTorch itself gives, relative; 1 and more where that can't be rounding."""
    if not expected.is_floating_point():
        return float((value != expected).float().mean())
    wide, own = expected.double(), value.double()
    both = wide.isfinite() & own.isfinite()
    if not torch.equal(wide.isfinite(), own.isfinite()):
        return FAR
    wide, own = wide[both], own[both]
    difference = float((own - wide).norm())
    return min(FAR, difference / max(float(wide.norm()), 1e-30)) if difference > 1e-30 else 0.0


FAR = 1e9
MOST_COMPARED = 1 << 20  # elements of an output


class Kept(Shared):
    """Outputs of one call, as they were when they were read."""

    def __init__(self, flat):
        super().__init__(self)
        self.flat = flat

    def span(self, offset, count):
        if offset < 0 or count < 0 or offset + count > self.flat.numel():
            raise ValueError(f"{count} bytes at {offset} are outside of what was kept")
        return self.flat[offset:offset + count]


class Varied:
    """New inputs made cheaply from one draw, where drawing takes long and many are needed. Numbers without structure are rotated by a
    secret distance within their tensor; everything else (indices, masks, triangular and normalised inputs) stays as drawn. The upper
    part of the seed names the draw, the whole of it the distance."""

    def __init__(self):
        self.base, self.tensors = None, None

    def forget(self):
        self.base, self.tensors = None, None

    def draw(self, draw, facts, seed):
        """draw(seed): the task's own tensors; facts(tensors): what is known of each."""
        base = seed >> SHARED_BITS
        if self.base != base:
            self.base, self.tensors = base, draw(base)
        generator = torch.Generator().manual_seed(seed)
        return [rotated(tensor, generator) if is_free(fact) else tensor for tensor, fact in zip(self.tensors, facts(self.tensors))]


def is_free(fact):
    return fact.free and not fact.structure


def rotated(tensor, generator):
    if tensor.numel() < 2:
        return tensor
    distance = int(torch.randint(1, tensor.numel(), (1,), generator=generator))
    return tensor.contiguous().reshape(-1).roll(distance).reshape(tensor.shape)
