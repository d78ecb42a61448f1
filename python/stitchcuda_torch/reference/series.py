"""Back-to-back calls of a candidate, each on inputs it hasn't seen, with outputs that this process reads.

Inputs are drawn into private memory and revealed by one copy; outputs are read by one copy. The caller's clock runs from before
the first copy to after the second.
"""

import math
import time

import torch

from ..base.errors import TaskError
from ..base.requests import Requests, request
from ..device.arena import raw
from .evaluate import MODES, evaluate
from .inputs import KINDS
from .shared import Shared, bytes_of_candidate
from .trials import DTYPES, choose, parse_outputs


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
            self.staged[begin : begin + flat.numel()].copy_(flat)

    def reveal(self, count):
        """Outputs of earlier calls are gone before."""
        self.arena.span(self.outputs_at, count * self.outputs_step).fill_(255)
        self.shown(count).copy_(self.staged[: count * self.inputs_step])
        self.wait()

    def take(self, count):
        size = count * self.outputs_step
        self.taken[:size].copy_(self.arena.span(self.outputs_at, size))
        self.wait()

    def intact(self, count):
        """Whether inputs are what was shown."""
        return torch.equal(self.shown(count), self.staged[: count * self.inputs_step])

    def inputs(self, slot):
        """What call `slot` was about, out of this process's own memory."""
        begin = slot * self.inputs_step
        return [part(self.staged, begin + offset, dtype, shape) for dtype, shape, offset in self.forms]

    def output(self, slot, dtype, shape, offset):
        return part(self.taken, slot * self.outputs_step + offset, dtype, shape)

    def keep(self, slot, number):
        self.kept[number] = Kept(self.taken[slot * self.outputs_step : (slot + 1) * self.outputs_step].clone())

    def shown(self, count):
        return self.arena.span(self.inputs_at, count * self.inputs_step)

    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def close(self):
        self.staged = self.taken = None
        self.kept = {}


def part(flat, begin, dtype, shape):
    return flat[begin : begin + math.prod(shape) * dtype.itemsize].view(dtype).reshape(shape)


def sampled(tensor, seed):
    """A million elements, evenly spread from a secret one on; all of fewer."""
    step = max(1, tensor.numel() // MOST_COMPARED)
    return tensor.reshape(-1)[seed % step :: step]


def deviation(value, expected):
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
        return self.flat[offset : offset + count]


class SeriesRequests(Requests):
    def __init__(self, model, inputs, memory, trials):
        self.model, self.inputs, self.memory, self.trials, self.series = model, inputs, memory, trials, None
        memory.on_unshare.append(self.close)

    def close(self):
        if self.series is not None:
            self.series.close()
            self.series = None
            self.inputs.varied.forget()

    @request
    def open_series(self, bytes: int, socket: str, slots: int, inputs_at: int, inputs_step: int, outputs_at: int, outputs_step: int):
        arena = self.memory.open_device_arena(bytes, socket)
        try:
            self.series = Series(arena, self.model.loaded.device, slots, inputs_at, inputs_step, outputs_at, outputs_step)
        except BaseException:
            self.memory.unshare_device()
            raise
        return {"bytes": arena.size}

    @request
    def stage(self, distributions: list, seeds: list, offsets: list):
        """A kind and a seed for each call."""
        if len(distributions) != len(seeds) or any(kind not in KINDS for kind in distributions):
            raise TaskError("request", f"stage wants a kind of inputs for each seed, of {', '.join(KINDS)}")
        for slot, (distribution, seed) in enumerate(zip(distributions, seeds)):
            self.opened().stage(slot, self.inputs.drawn(distribution, seed), offsets)
        self.series.wait()
        return {"free": self.inputs.can_be_varied()}

    @request
    def reveal(self, count: int):
        self.opened().reveal(count)
        return {}

    @request
    def take(self, count: int):
        self.opened().take(count)
        return {}

    @request
    def check_series(self, count: int, keep: list):
        """keep: [[slot, number], …]"""
        series = self.opened()
        for slot, number in keep:
            series.keep(slot, number)
        return {"intact": series.intact(count) if count else True}

    @request
    def compare_series(self, count: int, mode: MODES, *, outputs: list, updates: list = None, seconds: float, most: int = None, seed: int):
        """The relative distances of the calls that were read last from what PyTorch itself gives, [[call, distance], …], the largest first:
        of as many as there is time for, and at most so many.

        outputs: [[name, dtype, offset], …]"""
        start, series = time.monotonic(), self.opened()
        wanted, distances = parse_outputs([entry[:2] for entry in outputs]), []
        try:
            for slot in torch.randperm(count, generator=torch.Generator().manual_seed(seed)).tolist()[:most]:
                if time.monotonic() - start > seconds:
                    break
                expected = self.own_outputs(series.inputs(slot), mode, updates, wanted)
                distances.append(
                    [
                        slot,
                        max(
                            deviation(sampled(series.output(slot, dtype, value.shape, entry[2]), seed), sampled(value, seed))
                            for (_, dtype), value, entry in zip(wanted, expected, outputs)
                        ),
                    ]
                )
                del expected
        finally:
            self.model.give_back()
        distances.sort(key=lambda entry: -entry[1])
        return {"strange": distances}

    @request
    def compare_call(self, distribution: KINDS = "task", *, seed: int, mode: MODES, outputs: list, updates: list = None, file: str):
        """The same of one call, whose outputs are in a file: of each every step-th element, one output after the other.

        outputs: [[name, dtype, start, step], …]"""
        wanted, at, far = parse_outputs([entry[:2] for entry in outputs]), 0, 0.0
        with open(file, "rb") as stream:
            data = bytearray(stream.read())
        try:
            expected = self.own_outputs(self.inputs.drawn(distribution, seed), mode, updates, wanted)
            for (_, dtype), value, (_, _, start, step) in zip(wanted, expected, outputs):
                value = value.reshape(-1)[start::step]
                size = value.numel() * dtype.itemsize
                if at + size > len(data):
                    raise TaskError("request", f"{file} has {len(data)} bytes, and more are needed")
                if size:
                    far = max(far, deviation(torch.frombuffer(data, dtype=dtype, count=value.numel(), offset=at).to(value.device), value))
                at += size
        finally:
            self.model.give_back()
        return {"distance": far}

    @request
    def kept_distance(self, number: int, trial: int, output: int, dtype: DTYPES, offset: int):
        held = self.trials.held(trial)
        truth, _ = held.output(output)
        reader = self.kept(number).reader(bytes_of_candidate(dtype), offset, truth.shape, truth.device)
        return {"distance": held.measure(reader, output).as_json()}

    @request
    def fetch_kept(self, number: int, offset: int, bytes: int, to: int):
        self.memory.at("host").write(self.kept(number).span(offset, bytes), to)
        return {}

    def own_outputs(self, inputs, mode, updates, wanted):
        """PyTorch's own."""
        loaded = self.model.need()
        seen, _ = evaluate(loaded, inputs, mode, loaded.device, 42)
        return choose(seen, updates, loaded, wanted)

    def kept(self, number):
        kept = self.opened().kept
        if number not in kept:
            raise TaskError("request", f"no call {number} was kept")
        return kept[number]

    def opened(self):
        if self.series is None:
            raise TaskError("request", "no series is open", "", 'Ask for {"do": "open_series", …} first.')
        return self.series
