"""Inputs by kind and seed: the task's own draw and everything that is made of it."""

import torch

from ..base import safetensors
from ..base.requests import Requests, request
from . import distributions

IN_RANGE = " in range"
OTHERS = (*distributions.NAMES[1:], *distributions.PLANTED)
KINDS = ("task", *OTHERS, *(name + IN_RANGE for name in OTHERS), "varied")
SHARED_BITS = 20


class InputRequests(Requests):
    def __init__(self, model):
        self.model, self.facts, self.planted, self.varied = model, None, {}, Varied()

    def forget(self):
        self.facts = None
        self.varied.forget()

    @request
    def distributions(self):
        return {"distributions": list(distributions.NAMES)}

    @request
    def boundaries(self, kinds: dict):
        """What each input gets in draws of these kinds: src/reference/inputs/boundaries.h."""
        self.planted = kinds
        return {}

    @request
    def draw(self, distribution: KINDS = "task", *, seed: int, out: str):
        safetensors.write_mapped(out, {f"input_{i}": tensor for i, tensor in enumerate(self.drawn(distribution, seed))})
        return {}

    def drawn(self, distribution, seed):
        loaded = self.model.need()
        if distribution == "varied":
            return self.varied.draw(loaded.draw, self.studied, seed)
        tensors = loaded.draw(seed)
        self.studied(tensors)
        if distribution.endswith(IN_RANGE):
            drawn = self.drawn(distribution.removesuffix(IN_RANGE), seed)
            return [within(new, own) if fact.free and own.numel() else new for new, own, fact in zip(drawn, tensors, self.facts)]
        if distribution in distributions.PLANTED:
            return distributions.plant(distribution, self.planted[distribution], tensors, self.facts, seed)
        again = loaded.draw(seed + 1) if distribution in distributions.WHOLE else None
        return distributions.draw(distribution, tensors, self.facts, seed, again)

    def studied(self, tensors):
        if self.facts is None:
            self.facts = [distributions.study(tensor) for tensor in tensors]
        return self.facts

    def can_be_varied(self):
        return any(is_free(fact) for fact in self.facts or [])


def within(drawn, own):
    """For models that raise beyond: nothing outside of what the task draws."""
    return drawn.clamp(own.min(), own.max())


class Varied:
    """New inputs made cheaply from one draw, where drawing takes long and many are needed. Numbers without structure are rotated by a
    secret distance within their tensor; everything else (indices, masks, triangular and normalised inputs) stays as drawn. The upper
    part of the seed names the draw, the whole of it the distance."""

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
