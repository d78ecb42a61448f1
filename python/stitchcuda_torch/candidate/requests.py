"""The requests of src/runner/README.md, answered by a ModelNew."""

import os

import torch

from ..base.errors import Refused, TaskError
from ..device.arena import Arena, SharedArena
from ..device.stopwatch import Stopwatch
from .calls import Calls
from .program import Program
from .series import Series


def start(device, arena, take_descriptor):
    """(the device's name, {request: function}). arena: the descriptor of the orchestrator's memory."""
    if device == "cuda" and not torch.cuda.is_available():
        raise Refused("PyTorch sees no GPU here")
    device = torch.device("cuda", 0) if device == "cuda" else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.init()
        torch.ones(1, device=device).add_(1)
    torch.set_grad_enabled(False)  # once and for all: a candidate can't tell by it what is being done
    stopwatch = Stopwatch(device)
    memory = Memory(device, arena, take_descriptor, stopwatch)
    program = Program(memory, stopwatch)
    calls = Calls(memory, program, stopwatch)
    subjects = (memory, program, calls, Series(memory, program, calls, stopwatch))
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    return name, {name: function for subject in subjects for name, function in subject.requests().items()}


class Memory:
    """Memory that the orchestrator shares with this process: the host's from the start, the device's on request.

    `on_unshare`: functions that drop tensors in the device's memory before it is closed."""

    def __init__(self, device, descriptor, take_descriptor, stopwatch):
        self.device, self.arena, self.shared, self.on_unshare = device, Arena(descriptor), None, []
        self.take_descriptor, self.stopwatch = take_descriptor, stopwatch

    def requests(self):
        return {"share": self.share, "unshare": self.unshare}

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
        for release in self.on_unshare:
            release()
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
