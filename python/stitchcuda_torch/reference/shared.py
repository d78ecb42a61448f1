"""Memory shared with other processes, as the reference reads and writes it: in pieces, and fingerprints of what isn't kept."""

import functools
import math
import os
import secrets

import torch

from ..base.errors import TaskError
from ..base.requests import Requests, request
from ..device.arena import TYPES, Arena, DeviceArena, raw

PIECE = 1 << 26  # bytes


class Transfer:
    """Between shared memory and a device, through pinned memory where the one is the host's and the other a GPU's: a GPU reaches that at
    the full speed of its bus, and the host's half of the way is done by all of its cores."""

    @functools.cached_property
    def pinned(self):
        return torch.empty(PIECE, dtype=torch.uint8, pin_memory=True)

    def write(self, flat, memory):
        """All bytes of a flat tensor into memory of the same size; when this is done, other processes see them."""
        if flat.device.type == "cuda" and memory.device.type == "cpu":
            for begin in range(0, flat.numel(), PIECE):
                piece = flat[begin : begin + PIECE]
                memory[begin : begin + PIECE].copy_(self.pinned[: piece.numel()].copy_(piece))
        else:
            memory.copy_(flat)
            if memory.device.type == "cuda":
                torch.cuda.synchronize()

    def read(self, memory, dtype, device):
        """A copy of at most PIECE bytes as a flat tensor on the device."""
        if device.type == "cpu" or memory.device.type == "cuda":
            return memory.to(device, copy=True).view(dtype)
        # Not another byte before these have arrived: the next piece goes through the same memory.
        return self.pinned[: memory.numel()].copy_(memory).to(device).view(dtype)


def open_arena(path):
    """The orchestrator's."""
    try:
        return Arena(os.open(path, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        raise TaskError("memory", f"cannot open the shared memory {path}: {error.strerror}") from error


class Shared:
    """An arena, through which inputs go out and a candidate's outputs come in."""

    def __init__(self, arena):
        self.arena, self.transfer = arena, Transfer()

    def write(self, tensor, offset):
        flat = raw(tensor.detach().contiguous())
        if flat.numel():
            self.transfer.write(flat, self.arena.span(offset, flat.numel()))

    def holds(self, tensor, offset):
        """Whether these very bytes are there."""
        flat = raw(tensor.detach().contiguous())
        memory = self.arena.span(offset, flat.numel())
        pieces = ((memory[begin : begin + PIECE], flat[begin : begin + PIECE]) for begin in range(0, flat.numel(), PIECE))
        return all(torch.equal(self.transfer.read(there, torch.uint8, flat.device), here) for there, here in pieces)

    def reader(self, dtype, offset, shape, device):
        """Pieces of a tensor in the arena, each read once: the other process may write to it meanwhile."""
        size = dtype.itemsize
        memory = self.arena.span(offset, math.prod(shape) * size)
        return lambda begin, end: self.transfer.read(memory[begin * size : end * size], dtype, device)


class Fingerprints:
    """A keyed hash of bytes that aren't kept: without the secret, no other bytes with the same hash can be made."""

    def __init__(self):
        self.secret = secrets.randbits(62)

    def of(self, flat):
        """Of a flat tensor of bytes: its 32-bit words times secret weights, summed modulo 2^64. Two that differ collide with 2^-33 at most."""
        generator, total = torch.Generator(flat.device).manual_seed(self.secret), 0
        for begin in range(0, flat.numel(), PIECE):
            words = words_of(flat[begin : begin + PIECE])
            weights = torch.empty(words.numel(), dtype=torch.int64, device=flat.device).random_(generator=generator)
            total += weights.mul_(words).sum().item()
        return f"{total % 2**64:016x}"


def words_of(piece):
    rest = -piece.numel() % 4
    return (torch.nn.functional.pad(piece, (0, rest)) if rest else piece).view(torch.int32)


WHERE = ("host", "device")  # the orchestrator's arena, the device arena


class MemoryRequests(Requests):
    """`on_unshare`: functions that let go of the device's memory before it is freed."""

    def __init__(self, model):
        self.model, self.shared, self.device_arena, self.on_unshare, self.fingerprints = model, {}, None, [], Fingerprints()

    def forget(self):
        self.unshare_device()
        self.shared = {}

    @request
    def share(self, path: str):
        self.model.need()
        self.shared["host"] = Shared(open_arena(path))
        return {}

    @request
    def share_device(self, bytes: int, socket: str):
        self.shared["device"] = Shared(self.open_device_arena(bytes, socket))
        return {"bytes": self.device_arena.size}

    @request
    def unshare_device(self):
        for release in self.on_unshare:
            release()
        self.shared.pop("device", None)
        if self.device_arena is not None:
            self.device_arena.close()
            self.device_arena = None
        return {}

    @request
    def fingerprint(self, offset: int, bytes: int):
        return {"fingerprint": self.fingerprints.of(self.at("device").arena.span(offset, bytes))}

    @request
    def fetch(self, offset: int, ranges: list, to: int):
        """Ranges of the device arena, from this offset on, one after the other into the orchestrator's."""
        arena = self.at("device").arena
        pieces = [arena.span(offset + begin, end - begin) for begin, end in ranges]
        if pieces:
            self.at("host").write(torch.cat(pieces), to)
        return {}

    def open_device_arena(self, size, socket):
        """There is one at a time."""
        loaded = self.model.need()
        self.unshare_device()
        self.model.collect()
        arena = DeviceArena(size, loaded.device)
        try:
            arena.leave_at(socket)
        except OSError as error:
            arena.close()
            raise TaskError("request", f"nobody takes the device arena at {socket}: {error.strerror}") from error
        self.device_arena = arena
        return arena

    def at(self, where="host"):
        if where not in self.shared:
            request = '{"do": "share", "path": …}' if where == "host" else '{"do": "share_device", …}'
            raise TaskError("request", f"no memory of the {where} is shared", "", f"Ask for {request} first.")
        return self.shared[where]


def bytes_of_candidate(dtype):
    """The dtype to read its tensors as: a byte of its bools may be neither 0 nor 1."""
    return torch.uint8 if dtype == "bool" else TYPES[dtype]
