"""Between shared memory and a device: in pieces, through pinned memory where the one is the host's and the other a GPU's.

A GPU reaches pinned memory at the full speed of its bus, and the host's half of the way is done by all of its cores.
"""

import functools

import torch

PIECE = 1 << 26  # bytes


class Transfer:
    @functools.cached_property
    def pinned(self):
        return torch.empty(PIECE, dtype=torch.uint8, pin_memory=True)

    def write(self, flat, memory):
        """All bytes of a flat tensor into memory of the same size; when this is done, other processes see them."""
        if flat.device.type == "cuda" and memory.device.type == "cpu":
            for begin in range(0, flat.numel(), PIECE):
                piece = flat[begin:begin + PIECE]
                memory[begin:begin + PIECE].copy_(self.pinned[:piece.numel()].copy_(piece))
        else:
            memory.copy_(flat)
            if memory.device.type == "cuda":
                torch.cuda.synchronize()

    def read(self, memory, dtype, device):
        """A copy of at most PIECE bytes as a flat tensor on the device."""
        if device.type == "cpu" or memory.device.type == "cuda":
            return memory.to(device, copy=True).view(dtype)
        # Not another byte before these have arrived: the next piece goes through the same memory.
        return self.pinned[:memory.numel()].copy_(memory).to(device).view(dtype)
