"""The requests of src/runner/README.md, answered by a ModelNew."""

import math
import os
import time

import torch

from ..base.errors import Fault, Refused, TaskError
from ..device import activities
from ..device.arena import Arena, SharedArena, raw, type_of
from ..device.stopwatch import Stopwatch
from ..task import structure
from ..task.task import read_arguments
from . import counterparts, results
from .model_new import File, assign, find, misfits

list_threads = os.listdir  # before the candidate could replace it


class CandidateRequests:
    def __init__(self, device, arena, take_descriptor):
        if device == "cuda" and not torch.cuda.is_available():
            raise Refused("PyTorch sees no GPU here")
        self.device = torch.device("cuda", 0) if device == "cuda" else torch.device("cpu")
        if device == "cuda":
            torch.cuda.init()
            torch.ones(1, device=self.device).add_(1)
        torch.set_grad_enabled(False)  # for good: no phase can be told by it
        self.arena, self.stopwatch = Arena(arena), Stopwatch(self.device)
        self.take_descriptor, self.shared, self.series_places = take_descriptor, None, None
        self.file = self.model = None
        self.states, self.updates, self.seeded, self.form = [], [], False, None
        self.sets, self.next_set, self.series_sets = {}, 0, None
        self.returned, self.outputs, self.peak, self.spoiled = None, [], 0, []
        self.profiles = False

    def by_name(self):
        names = ("load", "create", "place", "drop", "call", "fetch_outputs", "fetch_input", "prepare_series", "series",
                 "can_profile", "profile", "call_with", "destroy", "share", "unshare")
        return {name: getattr(self, name) for name in names}

    def device_name(self):
        return torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "CPU"

    # Memory that is shared.

    def share(self, request):
        self.unshare({})
        descriptor = self.take_descriptor()
        if descriptor is None:
            raise Refused("no descriptor came with the request")
        try:
            self.shared = SharedArena(descriptor, request["bytes"], self.device)
        except (TaskError, OSError, ValueError) as error:
            raise Refused(str(error), status=4) from error
        finally:
            os.close(descriptor)
        return {}

    def unshare(self, request):
        self.stopwatch.wait()
        self.series_places = None
        if self.shared is not None:
            self.shared.close()
        self.shared = None
        return {}

    def arena_of(self, place):
        if place.get("where", "host") == "host":
            return self.arena
        if self.shared is None:
            raise Refused("no memory of the device is shared")
        return self.shared

    def upload(self, entry):
        return self.arena_of(entry).upload(entry, self.device)

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
        tensors = [self.upload(entry) for entry in request.get("parameters", [])]
        how = (positional, keyword, extra.get("seed", 42), self.device, extra.get("training", True))
        given = {name: tensor for name, tensor in zip(names, tensors) if name is not None}
        model, reached = self.file.construct(*how, given)
        wrong = [name for name in misfits(model, names, tensors) if name not in reached]
        if wrong and not may_differ:
            raise Refused(f"ModelNew has no {wrong[0]!r} of the same shape and dtype"
                          + (f", nor {len(wrong) - 1} others" if len(wrong) > 1 else ""))
        if wrong:
            model, _ = self.file.construct(*how)  # with none of them rather than with some
            loaded = counterparts.renew(model, names, tensors, extra.get("numbers", {}), find)
        else:
            drawn = self.file.drawn(model, how, given)
            assign(model, drawn, [given[name] for name in drawn])
            loaded = any(names)
        self.model, self.states, self.updates = model, extra.get("states", []), extra.get("updates", [])
        self.seeded, self.form = bool(extra.get("seeded")), extra.get("call")
        del tensors, given
        self.stopwatch.wait()
        return {"seconds": time.perf_counter() - start, "device_bytes": self.allocated(), "weights": "loaded" if loaded else "seed"}

    def constructor_arguments(self, extra):
        if "init" in extra:
            positional, keyword = read_arguments(extra["init"])
        else:
            positional, keyword = extra.get("arguments", []), extra.get("keywords", {})
        return [self.argument(value) for value in positional], {name: self.argument(value) for name, value in keyword.items()}

    def argument(self, value):
        if isinstance(value, dict) and set(value) == {"tensor"} and isinstance(value["tensor"], dict):
            return self.upload(value["tensor"])
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
                tensor.copy_(self.upload(entry))
            return {"set": request["into"]}
        decoys = [torch.empty(type_of(entry)[1], dtype=type_of(entry)[0], device=self.device) for entry in request["inputs"]]
        tensors = [self.upload(entry) for entry in request["inputs"]]  # never where a dropped set was
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
                "device_bytes": self.record_peak(), "earlier_result": results.is_spoiled(result, self.spoiled)}

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
            results.free_memory(types, self.device, self.peak, results.BYTES[filling])

    def take(self, result, types):
        self.returned = result
        self.outputs = self.taken(result, types)

    def taken(self, result, types):
        copies = [results.copied(tensor) for tensor in self.checked(result, types)]
        self.stopwatch.wait()
        return copies

    def checked(self, result, types):
        """What forward returned, and the updates behind it: still the candidate's own memory."""
        count = len(types) - len(self.updates)
        returned, wrong = results.checked(result, types[:count], self.device)
        if wrong:
            raise Refused(wrong)
        if not self.updates:
            return returned
        renewed = [find(self.model, name) for name in self.updates]
        lacking = [name for name, tensor in zip(self.updates, renewed) if tensor is None]
        if lacking:
            raise Refused(f"ModelNew has no {lacking[0]!r}")
        updates, wrong = results.checked([tensor.detach() for tensor in renewed], types[count:], self.device)
        if wrong:
            raise Refused(f"among the updates, {wrong}")
        return [*returned, *updates]

    def forget(self, spoil=True):
        """What the last call left must be no help to the next."""
        if spoil and self.returned is not None and self.model is not None:
            inputs = [tensor for tensors, _ in self.sets.values() for tensor in tensors]
            inputs += [tensor for tensors in self.series_sets or [] for tensor in tensors]
            states = [find(self.model, name) for name in {*self.states, *self.updates}]
            kept = [*inputs, *self.model.parameters(), *self.model.buffers(), *(tensor for tensor in states if tensor is not None)]
            self.spoiled = [ref for ref in self.spoiled if not ref.expired()] + results.spoil(self.returned, kept)
        self.returned, self.outputs = None, []

    def watched(self):
        return Watched(self.file, self.stopwatch)

    def fetch_outputs(self, request):
        for piece in request["pieces"]:
            if not 0 <= piece["output"] < len(self.outputs):
                raise Refused(f"the last call left no output {piece['output']}")
            self.arena_of(piece).store(raw(self.outputs[piece["output"]]), piece["ranges"], piece["offset"])
        self.stopwatch.wait()  # before the other process reads the memory
        return {}

    def fetch_input(self, request):
        tensors, _ = self.set_of(request["set"])
        if not 0 <= request["input"] < len(tensors):
            raise Refused(f"set {request['set']} has no input {request['input']}")
        flat = raw(tensors[request["input"]])
        self.arena_of(request).store(flat, [(0, flat.numel())], request["offset"])
        self.stopwatch.wait()
        return {}

    def prepare_series(self, request):
        self.series_types = [type_of(entry) for entry in request["outputs"]]
        self.series_nothing = [torch.zeros(shape, dtype=dtype, device=self.device) for dtype, shape in self.series_types]
        self.series_sets = [[self.upload(entry) for entry in request["inputs"]] for _ in range(max(1, request["sets"]))]
        self.stopwatch.wait()
        return {}

    def series(self, request):
        """Calls one after the other on inputs that lie in an arena, their outputs left there.

        What stands around a call is what a candidate that replaces this code could leave out: two copies of tensors that
        were looked up before, on the device where memory of it is shared."""
        if self.series_sets is None:
            raise Refused("no series is prepared")
        places, walls, events, waits = self.places_of(request["slots"]), [], [], []
        on_host = places.arena is self.arena
        for number in range(request["count"]):
            tensors, (sources, targets, back) = self.series_sets[number % len(self.series_sets)], places.of(number)
            for to, source in sources:
                results.copy(to, source)
            if not request["run"]:
                outputs = self.call_nothing(tensors)
            elif request["timed"]:
                outputs, wall, event = self.time_in_series(request, number, tensors)
                walls.append(wall)
                events.append(event)
            else:
                with self.watched():
                    outputs = self.checked(self.forward_on(tensors)(), self.series_types)
            if on_host:  # a copy to the host waits for the device: after all calls
                waits += [(to, results.copied(tensor)) for to, tensor in zip(targets, outputs)]
            else:
                for to, tensor in zip(targets, outputs):
                    results.copy(to, tensor)
            if request["timed"]:
                for to, tensor in back:
                    results.copy(to, tensor)
        for to, tensor in waits:
            results.copy(to, tensor)
        self.stopwatch.wait()
        return {"wall_ns": walls, "event_ns": events, "damage": ""}

    def places_of(self, slots):
        if self.series_places is None or self.series_places.slots != slots or self.series_places.sets is not self.series_sets:
            self.series_places = SeriesPlaces(self.arena_of(slots), slots, self.series_sets, self.series_types)
        return self.series_places

    def call_nothing(self, tensors):
        """All that a call takes beside the candidate's own code: as it is asked for before any of that is here."""
        self.arranged([tensor.detach() for tensor in tensors])
        with Watched(None, self.stopwatch):
            return results.checked(self.series_nothing, self.series_types, self.device)[0]

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
        return self.checked(result, self.series_types), wall, event

    def can_profile(self, request):
        if self.device.type != "cuda":
            raise Refused("there is no profiler for the CPU", status=4)
        if not self.profiles:
            self.profiles = True
            activities.warm_up()
        return {}

    def profile(self, request):
        self.can_profile(request)
        forward = self.prepared(request["set"])
        with self.watched():
            return {"activities": activities.record(forward, request.get("host_calls", False))}

    def call_with(self, request):
        tensors = [None if entry["offset"] < 0 else self.upload(entry) for entry in request["inputs"]]
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


class SeriesPlaces:
    """Where the tensors of each call of a series come from and go to, looked up once."""

    def __init__(self, arena, slots, sets, types):
        self.arena, self.slots, self.sets, self.types, self.known = arena, slots, sets, types, {}

    def of(self, number):
        """([(input, where it comes from)], [where outputs go], [(where it came from, input)])."""
        found = self.known.get(number)
        if found is None:
            tensors, slots = self.sets[number % len(self.sets)], self.slots
            base = slots["inputs_at"] + number * slots["inputs_step"]
            sources = [(tensor, self.typed(base + offset, tensor.dtype, tensor.shape))
                       for tensor, offset in zip(tensors, slots["inputs"]) if offset >= 0 and tensor.numel()]
            base = slots["outputs_at"] + number * slots["outputs_step"]
            targets = [self.typed(base + offset, *form) for form, offset in zip(self.types, slots["outputs"])]
            found = self.known[number] = (sources, targets, [(source, tensor) for tensor, source in sources])
        return found

    def typed(self, offset, dtype, shape):
        return self.arena.span(offset, math.prod(shape) * dtype.itemsize).view(dtype).view(shape)


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
