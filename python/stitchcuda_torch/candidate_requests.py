"""The requests of src/runner/README.md, answered by a ModelNew."""

import os
import time

import torch

from . import activities, poison, results, structure
from .arena import Arena, raw, type_of
from .constructor import read_arguments
from .errors import Fault, Refused
from .model_new import File, assign, find, misfits
from .stopwatch import Stopwatch

list_threads = os.listdir  # before the candidate could replace it


class CandidateRequests:
    def __init__(self, device, arena):
        if device == "cuda" and not torch.cuda.is_available():
            raise Refused("PyTorch sees no GPU here")
        self.device = torch.device("cuda", 0) if device == "cuda" else torch.device("cpu")
        if device == "cuda":
            torch.cuda.init()
            torch.ones(1, device=self.device).add_(1)
        torch.set_grad_enabled(False)  # for good: no phase can be told by it
        self.arena, self.stopwatch = Arena(arena), Stopwatch(self.device)
        self.file = self.model = None
        self.states, self.updates, self.seeded, self.form = [], [], False, None
        self.sets, self.next_set, self.burst_plan = {}, 0, None
        self.returned, self.outputs, self.peak = None, [], 0

    def by_name(self):
        names = ("load", "create", "place", "drop", "call", "fetch_outputs", "fetch_input", "prepare_burst", "burst", "profile",
                 "call_with", "destroy")
        return {name: getattr(self, name) for name in names}

    def device_name(self):
        return torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "CPU"

    # The program.

    def load(self, request):
        self.file = File(request["program"])
        return {"manifest": "", "has_regions": False, "trust": "python"}

    def create(self, request):
        start, extra = time.perf_counter(), request.get("extra") or {}
        if self.file is None:
            raise Refused("nothing is loaded")
        self.destroy({})
        positional, keyword = self.constructor_arguments(extra)
        model = self.file.construct(positional, keyword, extra.get("seed", 42), self.device, extra.get("training", True))
        names = extra.get("parameters", extra.get("state", []))
        may_differ = "state" in extra or extra.get("otherwise") == "seed"
        tensors = [self.arena.upload(entry, self.device) for entry in request.get("parameters", [])]
        wrong = misfits(model, names, tensors)
        if wrong and not may_differ:
            raise Refused(f"ModelNew has no {wrong[0]!r} of the same shape and dtype"
                          + (f", nor {len(wrong) - 1} others" if len(wrong) > 1 else ""))
        if not wrong:
            assign(model, names, tensors)
        self.model, self.states, self.updates = model, extra.get("states", []), extra.get("updates", [])
        self.seeded, self.form = bool(extra.get("seeded")), extra.get("call")
        del tensors
        self.stopwatch.wait()
        return {"seconds": time.perf_counter() - start, "device_bytes": self.allocated(),
                "weights": "seed" if wrong or not any(names) else "loaded"}

    def constructor_arguments(self, extra):
        if "init" in extra:
            positional, keyword = read_arguments(extra["init"])
        else:
            positional, keyword = extra.get("arguments", []), extra.get("keywords", {})
        return [self.argument(value) for value in positional], {name: self.argument(value) for name, value in keyword.items()}

    def argument(self, value):
        if isinstance(value, dict) and set(value) == {"tensor"} and isinstance(value["tensor"], dict):
            return self.arena.upload(value["tensor"], self.device)
        return value.to(self.device) if isinstance(value, torch.Tensor) else value

    def destroy(self, request):
        self.model = self.returned = self.burst_plan = None
        self.outputs = []
        return {}

    # Inputs.

    def place(self, request):
        decoys = [torch.empty(type_of(entry)[1], dtype=type_of(entry)[0], device=self.device) for entry in request["inputs"]]
        tensors = [self.arena.upload(entry, self.device) for entry in request["inputs"]]  # never where a dropped set was
        del decoys
        number, self.next_set = self.next_set, self.next_set + 1
        self.sets[number] = (tensors, request.get("scalars"))
        return {"set": number}

    def drop(self, request):
        self.set_of(request["set"])
        del self.sets[request["set"]]
        return {}

    def set_of(self, number):
        if number not in self.sets:
            raise Refused(f"there is no set {number}")
        return self.sets[number]

    # Calls.

    def call(self, request):
        if request.get("region", -1) >= 0:
            raise Refused("a Python candidate has no regions")
        types = [type_of(entry) for entry in request["outputs"]]
        self.forget()
        poison.free_memory(types, self.device, self.peak)
        self.watch_peak()
        forward = self.prepared(request["set"])
        before, wall, event = self.threads(), 0, 0
        with self.watched():
            if request.get("timed"):
                result, wall, event = self.stopwatch.time(forward, request.get("flush", 0))
            else:
                result = forward()
                self.stopwatch.wait()
        after = self.threads()
        self.take(result, types)
        return {"wall_ns": wall, "event_ns": event, "damage": "", "threads_before": before, "threads_after": after,
                "device_bytes": self.record_peak()}

    def prepared(self, number):
        """A function that runs forward on this set, whose states are in the module already."""
        if self.model is None:
            raise Refused("nothing is created")
        self.renew_states(number)
        inputs, _, _ = self.parts(number)
        scalars = self.set_of(number)[1]
        # Aliases: a candidate that resizes or replaces what it is given leaves the set as it is.
        aliases = [tensor.detach() for tensor in inputs]
        if scalars:
            rest = iter(aliases)
            arguments, keywords = [next(rest) if value is None else value for value in scalars], {}
        else:
            arguments, keywords = self.arranged(aliases)
        model = self.model
        return lambda: model(*arguments, **keywords)

    def arranged(self, tensors):
        """(positional, keyword), as the task calls its model."""
        return structure.arguments(self.form, tensors) if self.form else (tensors, {})

    def parts(self, number):
        """(forward's tensors, states, the seed or None) of a set, which holds them in this order."""
        tensors, _ = self.set_of(number)
        own = len(tensors) - len(self.states) - self.seeded
        if own < 0:
            raise Refused(f"set {number} lacks the states or the seed")
        return tensors[:own], tensors[own:own + len(self.states)], tensors[-1] if self.seeded else None

    def renew_states(self, number):
        _, values, seed = self.parts(number)
        wrong = misfits(self.model, self.states, values)
        if wrong:
            raise Refused(f"ModelNew has no state {wrong[0]!r} of the same shape and dtype")
        assign(self.model, self.states, values)
        if seed is not None:
            torch.manual_seed(int(seed))

    def take(self, result, types):
        count = len(types) - len(self.updates)
        self.returned = result
        copies, wrong = results.take(result, types[:count], self.device)
        if wrong:
            raise Refused(wrong)
        renewed = [find(self.model, name) for name in self.updates]
        lacking = [name for name, tensor in zip(self.updates, renewed) if tensor is None]
        if lacking:
            raise Refused(f"ModelNew has no {lacking[0]!r}")
        updates, wrong = results.take([tensor.detach() for tensor in renewed], types[count:], self.device)
        if wrong:
            raise Refused(f"among the updates, {wrong}")
        self.stopwatch.wait()
        self.outputs = [*copies, *updates]

    def forget(self):
        """What the last call left must be no help to the next."""
        if self.returned is not None and self.model is not None:
            inputs = [tensor for tensors, _ in self.sets.values() for tensor in tensors]
            states = [find(self.model, name) for name in {*self.states, *self.updates}]
            kept = [*inputs, *self.model.parameters(), *self.model.buffers(), *(tensor for tensor in states if tensor is not None)]
            results.spoil(self.returned, kept)
        self.returned, self.outputs = None, []

    def watched(self):
        return Watched(self.file, self.stopwatch)

    def fetch_outputs(self, request):
        for piece in request["pieces"]:
            if not 0 <= piece["output"] < len(self.outputs):
                raise Refused(f"the last call left no output {piece['output']}")
            self.arena.store(raw(self.outputs[piece["output"]]), piece["ranges"], piece["offset"])
        return {}

    def fetch_input(self, request):
        tensors, _ = self.set_of(request["set"])
        if not 0 <= request["input"] < len(tensors):
            raise Refused(f"set {request['set']} has no input {request['input']}")
        flat = raw(tensors[request["input"]])
        self.arena.store(flat, [(0, flat.numel())], request["offset"])
        return {}

    def prepare_burst(self, request):
        if not request["sets"]:
            raise Refused("a burst needs a set")
        forwards = [(number, self.prepared(number)) for number in request["sets"]]
        self.burst_plan = forwards, [type_of(entry) for entry in request["outputs"]]
        self.forget()
        return {}

    def burst(self, request):
        if self.burst_plan is None or request["count"] < 1:
            raise Refused("no burst is prepared" if self.burst_plan is None else "a burst needs a count")
        forwards, types = self.burst_plan
        with self.watched():
            for i in range(request["count"]):
                number, forward = forwards[i % len(forwards)]
                if self.states or self.seeded:
                    self.renew_states(number)
                result = forward()
            self.stopwatch.wait()
        self.take(result, types)
        return {}

    def profile(self, request):
        if self.device.type != "cuda":
            raise Refused("there is no profiler for the CPU", status=4)
        forward = self.prepared(request["set"])
        with self.watched():
            return {"activities": activities.record(forward, request.get("host_calls", False))}

    def call_with(self, request):
        tensors = [None if entry["offset"] < 0 else self.arena.upload(entry, self.device) for entry in request["inputs"]]
        if self.model is None:
            raise Refused("nothing is created")
        try:
            with self.file.stage():
                arguments, keywords = self.arranged(tensors)
                result = self.model(*arguments, **keywords)
            self.stopwatch.wait()
        except Exception as error:
            self.check_device(error)
            return {"status": 1, "message": str(error)}
        _, wrong = results.take(result, [type_of(entry) for entry in request["outputs"]], self.device)
        return {"status": 1, "message": wrong} if wrong else {"status": 0, "message": ""}

    # Facts.

    def threads(self):
        return len(list_threads("/proc/self/task"))

    def allocated(self):
        return torch.cuda.memory_allocated() if self.device.type == "cuda" else 0

    def watch_peak(self):
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
            self.before = torch.cuda.memory_allocated()

    def record_peak(self):
        if self.device.type != "cuda":
            return 0
        peak = torch.cuda.max_memory_allocated()
        self.peak = max(self.peak, peak - self.before)
        return peak

    def check_device(self, error):
        check_device(self.stopwatch, error)


class Watched:
    """Runs the candidate's forward: its exceptions point at its own line, and a broken GPU is the end."""

    def __init__(self, file, stopwatch):
        self.stage, self.stopwatch = file.stage(), stopwatch

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if error is None:
            return False
        check_device(self.stopwatch, error)
        return self.stage.__exit__(kind, error, traceback)


def check_device(stopwatch, error):
    try:
        stopwatch.wait()
    except Exception as lost:
        raise Fault(f"the GPU can't go on: {lost}") from error
