"""Trials kept in this process: inputs and float64 outputs of gigabytes are compared here instead of being sent."""

import torch

from ..base import dtypes
from ..base.errors import TaskError
from ..base.requests import Requests, request
from ..device.arena import TYPES
from . import distances
from .distances import distance
from .evaluate import MODES, check_carried, evaluate, named
from .inputs import KINDS
from .shared import WHERE, bytes_of_candidate


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


def hold(loaded, draw, mode, seed, wanted, updates, elsewhere, keep_own=False):
    """(Trial, what is said of each output). wanted: [(name, dtype)] in the order in which outputs will be asked about."""
    inputs = draw()
    seen, _ = evaluate(loaded, inputs, "float64", loaded.device, seed, elsewhere)
    check_carried(seen, updates or [], loaded)
    truth = [settled(tensor, dtype) for tensor, (_, dtype) in zip(choose(seen, updates, loaded, wanted), wanted)]
    del seen
    seen, _ = evaluate(loaded, inputs, mode, loaded.device, seed)
    own = choose(seen, updates, loaded, wanted)
    del seen, inputs
    described, kept_own = [], []
    for (name, _), exact, value in zip(wanted, truth, own):
        if value.shape != exact.shape:
            raise TaskError("reference", f"{name} has the shape {list(exact.shape)} in float64 and {list(value.shape)} in {mode}")
        off = distance(distances.of_tensor(value), exact)
        described.append({"name": name, "shape": list(exact.shape), "pytorch": off.as_json()})
        kept_own.append(None if exact.is_floating_point() and not off.not_finite else value.detach())
    kept = [value.detach().contiguous() for value in own] if keep_own else None
    return Trial(draw, loaded.drawn_on != loaded.device, truth, kept_own, kept), described


def choose(seen, updates, loaded, wanted):
    tensors = named(seen, updates, loaded)
    missing = [name for name, _ in wanted if name not in tensors]
    if missing:
        raise TaskError("request", f"the model gives no {missing[0]!r}")
    return [tensors[name] for name, _ in wanted]


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
DTYPES = tuple(TYPES)
CONTEXTS = 2 << 30  # bytes that the GPU is short of by CUDA contexts alone: more is other processes' data


class TrialRequests(Requests):
    def __init__(self, model, inputs, memory):
        self.model, self.inputs, self.memory, self.trials = model, inputs, memory, {}

    def forget(self):
        self.trials = {}

    @request
    def hold(
        self,
        trial: int,
        distribution: KINDS = "task",
        *,
        seed: int,
        mode: MODES,
        outputs: list,
        updates: list = None,
        patient: bool = False,
        own: bool = False,
    ):
        loaded, wanted = self.model.need(), parse_outputs(outputs)
        self.model.collect()

        def draw():
            return self.inputs.drawn(distribution, seed)

        for elsewhere in (False, True) if patient else (True,):
            try:
                self.trials[trial], described = hold(loaded, draw, mode, 42, wanted, updates, elsewhere, own)
                break
            except (TaskError, torch.OutOfMemoryError) as error:
                if elsewhere or getattr(error, "kind", "memory") != "memory":
                    raise
            if self.is_full_of_others():
                raise TaskError("busy", "the GPU's memory is full of other processes' data", "", "Ask again later.")
        self.model.collect()
        return {"outputs": described}

    @request
    def put(self, trial: int, inputs: list):
        tensors = self.held(trial).inputs()
        for number, offset, *where in inputs:
            self.memory.at(*where).write(tensors[number], offset)
        del tensors
        self.model.collect()
        return {}

    @request
    def same_input(self, trial: int, input: int, offset: int, where: WHERE = "host"):
        same = self.memory.at(where).holds(self.held(trial).inputs()[input], offset)
        self.model.collect()
        return {"same": same}

    @request
    def distance(self, trial: int, output: int, dtype: DTYPES, offset: int, where: WHERE = "host"):
        found = self.held(trial).measure(self.reader(trial, output, dtype, offset, where), output)
        return {"distance": found.as_json()}

    @request
    def outside(self, trial: int, output: int, dtype: DTYPES, offset: int, where: WHERE = "host", *, tolerance: float):
        return {"outside": self.held(trial).outside(self.reader(trial, output, dtype, offset, where), output, tolerance)}

    @request
    def imitate(self, trial: int, output: int, by: IMITATIONS, other: int = None):
        held = self.held(trial)
        readers = imitations(held, output, by, None if other is None else self.held(other))
        found = [held.measure(read, output).as_json() for read in readers]
        del readers
        self.model.collect()
        return {"distances": found}

    @request
    def let_go(self, trials: list):
        for trial in trials:
            self.trials.pop(trial, None)
        self.model.collect()
        return {}

    def held(self, trial):
        self.model.need()
        if trial not in self.trials:
            raise TaskError("request", f"no trial {trial} is held", "", 'Ask for {"do": "hold", …} first.')
        return self.trials[trial]

    def reader(self, trial, output, dtype, offset, where):
        """Of a candidate's output in shared memory."""
        truth, _ = self.held(trial).output(output)
        return self.memory.at(where).reader(bytes_of_candidate(dtype), offset, truth.shape, truth.device)

    def is_full_of_others(self):
        if self.model.loaded.device.type != "cuda":
            return False
        self.model.collect()
        free, total = torch.cuda.mem_get_info()
        own = torch.cuda.memory_reserved() + (self.memory.device_arena.size if self.memory.device_arena else 0)
        return total - free - own > CONTEXTS
