"""What PyTorch rounds, and what each rounding adds to its error: the requests `arithmetic` and `roundings`, which run the exported program."""

import copy
import json
import os
import time

import torch

from ..base import safetensors
from ..base.errors import TaskError, first_line
from ..device.gpu_lock import HELD, GpuLock
from ..export import record, trace
from . import distributions, numerics
from .evaluate import MODES, evaluate, named
from .float64 import native_dtype
from .interpret import Unmeasured
from .model import seconds_since
from .requests import Requests, request
from .roundings import measure


class Exported:
    """The document that the exporter wrote for C++, if it wrote it here; else it is made again."""

    def __init__(self):
        self.document, self.constants = None, {}

    def overhearing(self, request, channel):
        return Overhearing(self, request, channel)

    def read(self, folder):
        try:
            with open(os.path.join(folder, "aten.json")) as file:
                document = json.load(file)
            constants = [entry["data"] for entry in document["values"] if entry["role"] == "constant"]
            stored = safetensors.read(os.path.join(folder, "weights.safetensors")) if constants else {}
            self.constants = {name: stored[name].clone() for name in constants}
            self.document = document
        except (OSError, ValueError, KeyError):
            self.document = None  # made again when it is needed

    def need(self, loaded):
        if self.document is None:
            model = copy.deepcopy(loaded.model).cpu()
            program = trace.export(model, trace.fake_inputs(loaded.task), loaded.task.file, draw=lambda i: loaded.task.make_inputs(i))
            self.document, weights = record.record(program, loaded.task.file)
            self.constants = {e["data"]: weights[e["data"]] for e in self.document["values"] if e["role"] == "constant"}
        return self.document


class Overhearing:
    """A channel that reads an export's document before reporting that it is done."""

    def __init__(self, exported, request, channel):
        self.exported, self.channel = exported, channel
        try:
            self.folder = json.loads(request).get("out")
        except (ValueError, AttributeError):
            self.folder = None

    def send(self, message):
        if "done" in message and isinstance(self.folder, str):
            self.exported.read(self.folder)
        self.channel.send(message)

    def __getattr__(self, name):
        return getattr(self.channel, name)


def shares(loaded, exported, inputs, mode, half, floor, probes, seed, lock=HELD):
    """The answer, or {"unavailable": why}. lock: of the GPU; pending exclusive users go first between passes."""
    try:
        document = exported.need(loaded)
        own = named(evaluate(loaded, inputs, mode, half, loaded.device, 42)[0])
        lock.make_way()
        state = {**exported.constants, **loaded.tensors()}
        state = {name: tensor.to(loaded.device) for name, tensor in state.items()}
        native = native_dtype(loaded.model, inputs)
        return measure(document, state, inputs, own, floor, native, loaded.device, probes, seed, lock.make_way)
    except Unmeasured as reason:
        return {"unavailable": str(reason)}
    except torch.OutOfMemoryError:
        return {"unavailable": "there is no memory for a backward pass in float64"}
    except TaskError as error:
        return {"unavailable": error.message}
    except (RuntimeError, TypeError, NotImplementedError, KeyError, IndexError) as error:  # an operator that can't, this way
        return {"unavailable": f"{type(error).__name__}: {first_line(error)}"}


class RoundingRequests(Requests):
    def __init__(self, model, inputs):
        self.model, self.inputs, self.exported = model, inputs, Exported()

    @request
    def arithmetic(self, convolutions: list, turns: str = None):
        start, lock = time.monotonic(), GpuLock(turns)
        with lock.shared():
            found = numerics.are_tf32(convolutions, self.model.need().device, lock=lock)
            self.model.give_back()
        return {"tf32": found, "seconds": seconds_since(start), "waited": lock.waited}

    @request
    def roundings(
        self,
        mode: MODES,
        half: numerics.HALVES = "fp16",
        distribution: distributions.NAMES = "task",
        *,
        seed: int,
        floor: float = 1e-5,
        probes: int = 2,
        turns: str = None,
    ):
        """What the rounding of each value and operand does to the outputs; or `unavailable`: why that isn't known."""
        start, lock = time.monotonic(), GpuLock(turns)
        loaded = self.model.need()
        with lock.shared():
            answer = shares(loaded, self.exported, self.inputs.drawn(distribution, seed)[0], mode, half, floor, probes, seed, lock)
            self.model.collect()
        return {**answer, "seconds": round(seconds_since(start) - lock.waited, 4), "waited": lock.waited}
