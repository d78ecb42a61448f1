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
        self.sets, self.next_set, self.series_sets = {}, 0, None
        self.returned, self.outputs, self.peak = None, [], 0
        self.nothing = Nothing()

    def by_name(self):
        names = ("load", "create", "place", "drop", "call", "fetch_outputs", "fetch_input", "prepare_series", "series",
                 "can_profile", "profile", "call_with", "destroy")
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
        names = extra.get("parameters", extra.get("state", []))
        may_differ = "state" in extra or extra.get("otherwise") == "seed"
        tensors = [self.arena.upload(entry, self.device) for entry in request.get("parameters", [])]
        how = (positional, keyword, extra.get("seed", 42), self.device, extra.get("training", True))
        model = self.file.construct(*how, {name: tensor for name, tensor in zip(names, tensors) if name is not None})
        wrong = misfits(model, names, tensors)
        if wrong and not may_differ:
            raise Refused(f"ModelNew has no {wrong[0]!r} of the same shape and dtype"
                          + (f", nor {len(wrong) - 1} others" if len(wrong) > 1 else ""))
        if wrong:
            model = self.file.construct(*how)  # with none of them rather than with some
        else:
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
        self.model = self.returned = None
        self.outputs = []
        return {}

    # Inputs.

    def place(self, request):
        if "into" in request:  # other contents at the same addresses
            known = self.set_of(request["into"])[0]
            for tensor, entry in zip(known, request["inputs"], strict=True):
                tensor.copy_(self.arena.upload(entry, self.device))
            return {"set": request["into"]}
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
        self.fill(types, request.get("filling", "nan"))
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
        return self.forward_on(*self.set_of(number))

    def forward_on(self, tensors, scalars=None):
        """A function that runs forward on these inputs, whose states are in the module already."""
        if self.model is None:
            raise Refused("nothing is created")
        self.renew_states(tensors)
        inputs, _, _ = self.parts(tensors)
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

    def parts(self, tensors):
        """(forward's tensors, states, the seed or None) of a set, which holds them in this order."""
        own = len(tensors) - len(self.states) - self.seeded
        if own < 0:
            raise Refused("the inputs lack the states or the seed")
        return tensors[:own], tensors[own:own + len(self.states)], tensors[-1] if self.seeded else None

    def renew_states(self, tensors):
        _, values, seed = self.parts(tensors)
        wrong = misfits(self.model, self.states, values)
        if wrong:
            raise Refused(f"ModelNew has no state {wrong[0]!r} of the same shape and dtype")
        assign(self.model, self.states, values)
        if seed is not None:
            torch.manual_seed(int(seed))

    def fill(self, types, filling):
        """What torch.empty() finds: NaNs, numbers that look like results, or what the last call left."""
        self.forget(spoil=filling != "old result")
        if filling != "old result":
            poison.free_memory(types, self.device, self.peak, poison.BYTES[filling])

    def take(self, result, types):
        self.returned = result
        self.outputs = self.taken(result, types)

    def taken(self, result, types):
        count = len(types) - len(self.updates)
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
        return [*copies, *updates]

    def forget(self, spoil=True):
        """What the last call left must be no help to the next."""
        if spoil and self.returned is not None and self.model is not None:
            inputs = [tensor for tensors, _ in self.sets.values() for tensor in tensors]
            inputs += [tensor for tensors in self.series_sets or [] for tensor in tensors]
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

    def prepare_series(self, request):
        self.series_types = [type_of(entry) for entry in request["outputs"]]
        self.series_sets = [[self.arena.upload(entry, self.device) for entry in request["inputs"]] for _ in range(max(1, request["sets"]))]
        self.stopwatch.wait()
        return {}

    def series(self, request):
        """Calls one after the other on inputs that lie in the arena, their outputs left there."""
        if self.series_sets is None:
            raise Refused("no series is prepared")
        slots, types, kept, walls, events = request["slots"], self.series_types, [], [], []
        if slots.get("where", "host") != "host":
            raise Refused("a Python candidate has no memory of the device to share")
        for number in range(request["count"]):
            tensors = self.series_sets[number % len(self.series_sets)]
            self.fetch_slot(slots, number, tensors)
            if not request["run"]:
                outputs = self.call_nothing(tensors)
            elif request["timed"]:
                outputs, wall, event = self.time_in_series(request, number, tensors)
                walls.append(wall)
                events.append(event)
            else:
                with self.watched():
                    outputs = self.taken(self.forward_on(tensors)(), types)
            kept.append(outputs)
            if request["timed"]:
                self.leave(slots["inputs"], slots["inputs_at"] + number * slots["inputs_step"], tensors)
        self.stopwatch.wait()
        for number, outputs in enumerate(kept):
            self.leave(slots["outputs"], slots["outputs_at"] + number * slots["outputs_step"], outputs)
        self.stopwatch.wait()
        return {"wall_ns": walls, "event_ns": events, "damage": ""}

    def call_nothing(self, tensors):
        """All that a call takes beside the candidate's own code: as it is asked for before any of that is here."""
        arguments, keywords = self.arranged([tensor.detach() for tensor in tensors])
        with Watched(None, self.stopwatch):
            made = self.nothing(self.series_types, self.device, *arguments, **keywords)
        outputs, _ = results.take(made, self.series_types, self.device)
        self.stopwatch.wait()
        return outputs

    def time_in_series(self, request, number, tensors):
        """A call alone, after one on another set's inputs."""
        others = self.series_sets[(number + 1) % len(self.series_sets)]
        with self.watched():
            if others is not tensors:
                self.returned = self.forward_on(others)()
                self.stopwatch.wait()
            self.fill(self.series_types, request["fillings"][number])
            result, wall, event = self.stopwatch.time(self.forward_on(tensors), request.get("flush", 0))
        self.returned = result
        return self.taken(result, self.series_types), wall, event

    def fetch_slot(self, slots, number, tensors):
        base = slots["inputs_at"] + number * slots["inputs_step"]
        for tensor, offset in zip(tensors, slots["inputs"]):
            if offset >= 0 and tensor.numel():
                flat = raw(tensor)
                flat.copy_(self.arena.span(base + offset, flat.numel()))

    def leave(self, offsets, base, tensors):
        for tensor, offset in zip(tensors, offsets):
            if offset >= 0:
                flat = raw(tensor)
                self.arena.store(flat, [(0, flat.numel())], base + offset)

    def can_profile(self, request):
        if self.device.type != "cuda":
            raise Refused("there is no profiler for the CPU", status=4)
        return {}

    def profile(self, request):
        self.can_profile(request)
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


class Nothing(torch.nn.Module):
    """A module that computes nothing."""

    def forward(self, types, device, *arguments, **keywords):
        return [torch.empty(shape, dtype=dtype, device=device) for dtype, shape in types]


class Watched:
    """Runs the candidate's forward: its exceptions point at its own line, and a broken GPU is the end."""

    def __init__(self, file, stopwatch):
        self.stage, self.stopwatch = file.stage() if file else None, stopwatch

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if error is None:
            return False
        check_device(self.stopwatch, error)
        return self.stage.__exit__(kind, error, traceback) if self.stage else False


def check_device(stopwatch, error):
    try:
        stopwatch.wait()
    except Exception as lost:
        raise Fault(f"the GPU can't go on: {lost}") from error
