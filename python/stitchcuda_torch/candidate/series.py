"""Calls one after the other on inputs that lie in an arena, their outputs left there: what the orchestrator times."""

import math

import torch

from ..base.errors import Refused
from ..device.arena import type_of
from . import results
from .program import Watched


class Series:
    def __init__(self, memory, program, calls, stopwatch):
        self.memory, self.program, self.calls, self.device, self.stopwatch = memory, program, calls, memory.device, stopwatch
        self.sets = self.places = None
        memory.on_unshare.append(self.forget_places)

    def requests(self):
        return {"prepare_series": self.prepare_series, "series": self.series}

    def forget_places(self):
        self.places = None

    def prepare_series(self, request):
        self.types = [type_of(entry) for entry in request["outputs"]]
        self.nothing = [torch.zeros(shape, dtype=dtype, device=self.device) for dtype, shape in self.types]
        self.sets = [[self.memory.upload(entry) for entry in request["inputs"]] for _ in range(max(1, request["sets"]))]
        self.calls.protected = self.sets
        self.stopwatch.wait()
        return {}

    def series(self, request):
        """What stands around a call is what a candidate that replaces this code could leave out: two copies of tensors that
        were looked up before, on the device where memory of it is shared."""
        if self.sets is None:
            raise Refused("no series is prepared")
        places, walls, events, waits = self.places_of(request["slots"]), [], [], []
        on_host = places.arena is self.memory.arena
        for number in range(request["count"]):
            tensors, (sources, targets, back) = self.sets[number % len(self.sets)], places.of(number)
            for to, source in sources:
                results.copy(to, source)
            if not request["run"]:
                outputs = self.call_nothing(tensors)
            elif request["timed"]:
                outputs, wall, event = self.time_in_series(request, number, tensors)
                walls.append(wall)
                events.append(event)
            else:
                with self.program.watched():
                    outputs = self.program.checked(self.program.forward_on(tensors)(), self.types)
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
        if self.places is None or self.places.slots != slots or self.places.sets is not self.sets:
            self.places = Places(self.memory.arena_of(slots), slots, self.sets, self.types)
        return self.places

    def call_nothing(self, tensors):
        """The overhead of a call: it is timed before the candidate's code is loaded."""
        self.program.arranged([tensor.detach() for tensor in tensors])
        with Watched(None, self.stopwatch):
            return results.checked(self.nothing, self.types, self.device)[0]

    def time_in_series(self, request, number, tensors):
        """A call alone, after one on another set's inputs."""
        others = self.sets[(number + 1) % len(self.sets)]
        with self.program.watched():
            if others is not tensors:
                self.calls.returned = self.program.forward_on(others)()
                self.stopwatch.wait()
            self.calls.fill(self.types, request["fillings"][number])
            result, wall, event = self.stopwatch.time(self.program.forward_on(tensors), request.get("flush", 0))
        self.calls.returned = result
        return self.program.checked(result, self.types), wall, event


class Places:
    """Where the tensors of each call of a series come from and go to, looked up once."""

    def __init__(self, arena, slots, sets, types):
        self.arena, self.slots, self.sets, self.types, self.known = arena, slots, sets, types, {}

    def of(self, number):
        """([(input, where it comes from)], [where outputs go], [(where it came from, input)])."""
        found = self.known.get(number)
        if found is None:
            tensors, slots = self.sets[number % len(self.sets)], self.slots
            base = slots["inputs_at"] + number * slots["inputs_step"]
            sources = [
                (tensor, self.typed(base + offset, tensor.dtype, tensor.shape))
                for tensor, offset in zip(tensors, slots["inputs"])
                if offset >= 0 and tensor.numel()
            ]
            base = slots["outputs_at"] + number * slots["outputs_step"]
            targets = [self.typed(base + offset, *form) for form, offset in zip(self.types, slots["outputs"])]
            found = self.known[number] = (sources, targets, [(source, tensor) for tensor, source in sources])
        return found

    def typed(self, offset, dtype, shape):
        return self.arena.span(offset, math.prod(shape) * dtype.itemsize).view(dtype).view(shape)
