"""New inputs made cheaply from one draw, where drawing takes long and many are needed.

Numbers without structure are rotated by a secret distance within their tensor; everything else (indices, masks, triangular and
normalised inputs) stays as drawn. The upper part of the seed names the draw, the whole of it the distance.
"""

import torch

SHARED_BITS = 20


class Varied:
    def __init__(self):
        self.base, self.tensors = None, None

    def forget(self):
        self.base, self.tensors = None, None

    def draw(self, draw, facts, seed):
        """draw(seed): the task's own tensors; facts(tensors): what is known of each."""
        base = seed >> SHARED_BITS
        if self.base != base:
            self.base, self.tensors = base, draw(base)
        generator = torch.Generator().manual_seed(seed)
        return [rotated(tensor, generator) if is_free(fact) else tensor for tensor, fact in zip(self.tensors, facts(self.tensors))]


def is_free(fact):
    return fact.free and not fact.structure


def rotated(tensor, generator):
    if tensor.numel() < 2:
        return tensor
    distance = int(torch.randint(1, tensor.numel(), (1,), generator=generator))
    return tensor.contiguous().reshape(-1).roll(distance).reshape(tensor.shape)
