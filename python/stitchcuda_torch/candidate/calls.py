"""Single calls: inputs placed in sets, outputs copied at once and fetched piece by piece, the profile of a call."""

import os

import torch

from ..base.errors import Refused
from ..device import activities
from ..device.arena import raw, type_of
from . import results
from .model_new import find
from .program import check_device

list_threads = os.listdir  # before the candidate could replace it


class Calls:
    """`protected`: lists of tensors that are never overwritten, though forward may return them."""

    def __init__(self, memory, program, stopwatch):
        self.memory, self.program, self.device, self.stopwatch = memory, program, memory.device, stopwatch
        self.sets, self.next_set, self.protected = {}, 0, []
        self.returned, self.outputs, self.peak, self.spoiled, self.profiles = None, [], 0, [], False
        program.on_destroy.append(self.drop_results)

    def requests(self):
        return {
            name: getattr(self, name) for name in ("place", "drop", "call", "fetch_outputs", "fetch_input", "can_profile", "profile", "call_with")
        }

    def place(self, request):
        if "into" in request:  # other contents at the same addresses
            known = self.set_of(request["into"])
            for tensor, entry in zip(known, request["inputs"], strict=True):
                tensor.copy_(self.memory.upload(entry))
            return {"set": request["into"]}
        decoys = [torch.empty(type_of(entry)[1], dtype=type_of(entry)[0], device=self.device) for entry in request["inputs"]]
        tensors = [self.memory.upload(entry) for entry in request["inputs"]]  # never where a dropped set was
        del decoys
        number, self.next_set = self.next_set, self.next_set + 1
        self.sets[number] = tensors
        return {"set": number}

    def drop(self, request):
        self.set_of(request["set"])
        del self.sets[request["set"]]
        return {}

    def set_of(self, number):
        if number not in self.sets:
            raise Refused(f"there is no set {number}")
        return self.sets[number]

    def call(self, request):
        if request.get("region", -1) >= 0:
            raise Refused("a Python candidate has no regions")
        types = [type_of(entry) for entry in request["outputs"]]
        self.fill(types, request.get("filling", "nan"))
        self.watch_peak()
        forward = self.prepared(request["set"])
        before, wall, event = self.threads(), 0, 0
        with self.program.watched():
            if request.get("timed"):
                result, wall, event = self.stopwatch.time(forward, request.get("flush", 0))
            else:
                result = forward()
                self.stopwatch.wait()
        after = self.threads()
        self.returned = result
        self.outputs = [results.copied(tensor) for tensor in self.program.checked(result, types)]
        self.stopwatch.wait()
        return {
            "wall_ns": wall,
            "event_ns": event,
            "damage": "",
            "threads_before": before,
            "threads_after": after,
            "device_bytes": self.record_peak(),
            "earlier_result": results.is_spoiled(result, self.spoiled),
        }

    def prepared(self, number):
        return self.program.forward_on(self.set_of(number))

    def fill(self, types, filling):
        """What torch.empty() finds: NaNs, numbers that look like results, or what the last call left."""
        self.forget(spoil=filling != "old result")
        if filling != "old result":
            results.free_memory(types, self.device, self.peak, results.BYTES[filling])

    def forget(self, spoil=True):
        """What the last call left must be no help to the next."""
        program = self.program
        if spoil and self.returned is not None and program.model is not None:
            inputs = [tensor for tensors in (*self.sets.values(), *self.protected) for tensor in tensors]
            states = [find(program.model, name) for name in {*program.states, *program.updates}]
            kept = [*inputs, *program.model.parameters(), *program.model.buffers(), *(tensor for tensor in states if tensor is not None)]
            self.spoiled = [ref for ref in self.spoiled if not ref.expired()] + results.spoil(self.returned, kept)
        self.drop_results()

    def drop_results(self):
        self.returned, self.outputs = None, []

    def fetch_outputs(self, request):
        for piece in request["pieces"]:
            if not 0 <= piece["output"] < len(self.outputs):
                raise Refused(f"the last call left no output {piece['output']}")
            self.memory.arena_of(piece).store(raw(self.outputs[piece["output"]]), piece["ranges"], piece["offset"])
        self.stopwatch.wait()  # before the other process reads the memory
        return {}

    def fetch_input(self, request):
        tensors = self.set_of(request["set"])
        if not 0 <= request["input"] < len(tensors):
            raise Refused(f"set {request['set']} has no input {request['input']}")
        flat = raw(tensors[request["input"]])
        self.memory.arena_of(request).store(flat, [(0, flat.numel())], request["offset"])
        self.stopwatch.wait()
        return {}

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
        with self.program.watched():
            return {"activities": activities.record(forward, request.get("host_calls", False))}

    def call_with(self, request):
        tensors = [None if entry["offset"] < 0 else self.memory.upload(entry) for entry in request["inputs"]]
        if self.program.model is None:
            raise Refused("nothing is created")
        try:
            with self.program.file.stage():
                arguments, keywords = self.program.arranged(tensors)
                result = self.program.model(*arguments, **keywords)
            self.stopwatch.wait()
        except Exception as error:
            check_device(self.stopwatch, error)
            return {"status": 1, "message": str(error)}
        _, wrong = results.take(result, [type_of(entry) for entry in request["outputs"]], self.device)
        return {"status": 1, "message": wrong} if wrong else {"status": 0, "message": ""}

    def threads(self):
        return len(list_threads("/proc/self/task"))

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
