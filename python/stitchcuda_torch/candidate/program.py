"""The candidate itself: its file, the model made of it with the task's weights, and its forward pass on a set of inputs."""

import time

import torch

from ..base.errors import Fault, Refused
from ..task import structure
from ..task.task import read_arguments
from . import counterparts, results
from .model_new import File, assign, find, misfits


class Program:
    """`on_destroy`: functions that drop what the model returned."""

    def __init__(self, memory, stopwatch):
        self.memory, self.device, self.stopwatch = memory, memory.device, stopwatch
        self.file = self.model = self.original = None
        self.states, self.updates, self.seeded, self.form, self.on_destroy = [], [], False, None, []

    def requests(self):
        return {"load": self.load, "create": self.create, "destroy": self.destroy}

    def load(self, request):
        self.file, self.original = File(request["program"]), None
        return {"manifest": "", "has_regions": False, "trust": "python"}

    def create(self, request):
        start, extra = time.perf_counter(), request.get("extra") or {}
        if self.file is None:
            raise Refused("nothing is loaded")
        self.destroy({})
        positional, keyword = self.constructor_arguments(extra)
        names = extra.get("parameters", extra.get("state", []))
        tensors = [self.memory.upload(entry) for entry in request.get("parameters", [])]
        how = (positional, keyword, extra.get("seed", 42), self.device, extra.get("training", True))
        given = {name: tensor for name, tensor in zip(names, tensors) if name is not None}
        model, reached = self.file.construct(*how, given)
        wrong = [name for name in misfits(model, names, tensors) if name not in reached]
        if wrong and "state" not in extra:
            raise Refused(f"ModelNew has no {wrong[0]!r} of the same shape and dtype" + (f", nor {len(wrong) - 1} others" if len(wrong) > 1 else ""))
        if wrong:
            model, _ = self.file.construct(*how)  # with none of them rather than with some
            # The first ones are the task's own.
            self.original = self.original or {name: tensor.clone() for name, tensor in zip(names, tensors)}
            loaded = counterparts.renew(model, names, tensors, extra.get("numbers", {}), find, self.original)
        else:
            drawn = self.file.drawn(model, how, given)
            assign(model, drawn, [given[name] for name in drawn])
            loaded = any(names) or (not names and bool(extra.get("states")))  # states are given with each call
        self.model, self.states, self.updates = model, extra.get("states", []), extra.get("updates", [])
        self.seeded, self.form = bool(extra.get("seeded")), extra.get("call")
        del tensors, given
        self.stopwatch.wait()
        allocated = torch.cuda.memory_allocated() if self.device.type == "cuda" else 0
        return {"seconds": time.perf_counter() - start, "device_bytes": allocated, "weights": "loaded" if loaded else "seed"}

    def constructor_arguments(self, extra):
        if "init" in extra:
            positional, keyword = read_arguments(extra["init"])
        else:
            positional, keyword = extra.get("arguments", []), extra.get("keywords", {})
        return [self.argument(value) for value in positional], {name: self.argument(value) for name, value in keyword.items()}

    def argument(self, value):
        if isinstance(value, dict) and set(value) == {"tensor"} and isinstance(value["tensor"], dict):
            return self.memory.upload(value["tensor"])
        return value.to(self.device) if isinstance(value, torch.Tensor) else value

    def destroy(self, request):
        self.model = None
        for drop in self.on_destroy:
            drop()
        return {}

    def forward_on(self, tensors):
        """A function that runs forward on these inputs, whose states are in the module already."""
        if self.model is None:
            raise Refused("nothing is created")
        self.renew_states(tensors)
        inputs, _, _ = self.parts(tensors)
        # Aliases: a candidate that resizes or replaces what it is given leaves the set as it is.
        arguments, keywords = self.arranged([tensor.detach() for tensor in inputs])
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
        return tensors[:own], tensors[own : own + len(self.states)], tensors[-1] if self.seeded else None

    def renew_states(self, tensors):
        _, values, seed = self.parts(tensors)
        wrong = misfits(self.model, self.states, values)
        if wrong:
            raise Refused(f"ModelNew has no state {wrong[0]!r} of the same shape and dtype")
        assign(self.model, self.states, values)
        if seed is not None:
            torch.manual_seed(int(seed))

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

    def watched(self):
        return Watched(self.file, self.stopwatch)


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
