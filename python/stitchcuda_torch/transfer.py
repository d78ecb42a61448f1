"""Between the memory of the host and a device: in pieces, through pinned memory where the device is a GPU.

A GPU reaches pinned memory at the full speed of its bus, and the host's half of the way is done by all of its cores.
"""

import torch

PIECE = 1 << 26  # bytes


class Transfer:
    def __init__(self, device):
        self.pinned = torch.empty(PIECE, dtype=torch.uint8, pin_memory=True) if device.type == "cuda" else None

    def to_host(self, flat, memory):
        """All bytes of a flat tensor into memory of the same size."""
        if flat.device.type == "cpu":
            memory.copy_(flat)
            return
        for begin in range(0, flat.numel(), PIECE):
            piece = flat[begin:begin + PIECE]
            memory[begin:begin + PIECE].copy_(self.pinned[:piece.numel()].copy_(piece))

    def to_device(self, memory, dtype, device):
        """A copy of at most PIECE bytes as a flat tensor on the device."""
        if device.type == "cpu":
            return memory.clone().view(dtype)
        # Not another byte before these have arrived: the next piece goes through the same memory.
        return self.pinned[:memory.numel()].copy_(memory).to(device).view(dtype)
