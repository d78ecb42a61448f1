"""The memory that the orchestrator shares with a candidate: tensors by offset."""

import math
import mmap
import os

import torch

from . import dtypes

TYPES = {name: dtype for dtype, name in dtypes.NAMES.items()}


class Arena:
    def __init__(self, descriptor):
        self.descriptor, self.bytes = descriptor, None

    def span(self, offset, count):
        """Bytes as a tensor; the memory may have grown since the last request."""
        if self.bytes is None or offset + count > self.bytes.numel():
            size = os.fstat(self.descriptor).st_size
            self.bytes = torch.frombuffer(mmap.mmap(self.descriptor, size), dtype=torch.uint8)
        if offset < 0 or offset + count > self.bytes.numel():
            raise ValueError(f"{count} bytes at {offset} are outside of the arena")
        return self.bytes[offset:offset + count]

    def upload(self, entry, device):
        """A copy, on the device, of a tensor {"dtype", "shape", "offset"}; zeros where the offset is -1."""
        dtype, shape = type_of(entry)
        if entry["offset"] < 0:
            return torch.zeros(shape, dtype=dtype, device=device)
        count = math.prod(shape) * dtype.itemsize
        tensor = torch.empty(shape, dtype=dtype, device=device)
        if count:
            tensor.view(-1).view(torch.uint8).copy_(self.span(entry["offset"], count))
        return tensor

    def store(self, flat, ranges, offset):
        """Ranges of a tensor's bytes, one after the other."""
        for begin, end in ranges:
            if not 0 <= begin <= end <= flat.numel():
                raise ValueError(f"bytes {begin} to {end} of a tensor of {flat.numel()}")
            self.span(offset, end - begin).copy_(flat[begin:end])
            offset += end - begin


def type_of(entry):
    """(dtype, shape) of {"dtype", "shape"}."""
    return TYPES[entry["dtype"]], tuple(entry["shape"])


def raw(tensor):
    """A contiguous tensor's bytes."""
    return tensor.reshape(-1).view(torch.uint8)
