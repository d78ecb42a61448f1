"""The requests of src/runner/README.md, answered by a ModelNew."""

import torch

from ..base.errors import Refused
from ..device.stopwatch import Stopwatch
from .calls import Calls
from .memory import Memory
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
