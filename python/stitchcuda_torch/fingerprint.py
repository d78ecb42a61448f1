"""A keyed hash of bytes that aren't kept: without the secret, no other bytes with the same hash can be made."""

import secrets

import torch

from .transfer import PIECE


class Fingerprints:
    def __init__(self):
        self.secret = secrets.randbits(62)

    def of(self, flat):
        """Of a flat tensor of bytes: its 32-bit words times secret weights, summed modulo 2^64. Two that differ collide with 2^-33 at most."""
        generator, total = torch.Generator(flat.device).manual_seed(self.secret), 0
        for begin in range(0, flat.numel(), PIECE):
            words = words_of(flat[begin:begin + PIECE])
            weights = torch.empty(words.numel(), dtype=torch.int64, device=flat.device).random_(generator=generator)
            total += weights.mul_(words).sum().item()
        return f"{total % 2**64:016x}"


def words_of(piece):
    rest = -piece.numel() % 4
    return (torch.nn.functional.pad(piece, (0, rest)) if rest else piece).view(torch.int32)
