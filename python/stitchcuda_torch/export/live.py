"""A module of the user's process as a task: the files that `stitchcuda.optimize` wrote, read back.

A folder of them holds NAME.py (the task), aten.json and weights.safetensors (its export), inputs.pt (the call's
arguments) and the model itself: model.pickle, or model.pt2 where its classes can't be found in another process.
"""

import os
import shutil

import torch
from torch.utils import _pytree as pytree

from . import rnn  # noqa: F401  the operators of an exported LSTM


class Saved:
    def __init__(self, task_file):
        self.folder = os.path.dirname(os.path.abspath(task_file))

    def path(self, name):
        return os.path.join(self.folder, name)

    def model(self):
        if os.path.exists(self.path("model.pickle")):
            return torch.load(self.path("model.pickle"), map_location="cpu", weights_only=False)
        return torch.export.load(self.path("model.pt2")).module(check_guards=False)

    def inputs(self):
        """Other values of the same kind: (positional, keyword)."""
        arguments, keywords = torch.load(self.path("inputs.pt"), map_location="cpu", weights_only=False)
        return list(pytree.tree_map(draw_like, tuple(arguments))), pytree.tree_map(draw_like, keywords)

    def exported(self, out):
        """Puts the export into a folder."""
        for name in ("aten.json", "weights.safetensors"):
            target = os.path.join(out, name)
            try:
                os.link(self.path(name), target)
            except OSError:
                shutil.copyfile(self.path(name), target)


def draw_like(example):
    """Values that could have stood in the example's place. Indices, masks and other choices must stay possible, so
    they are the example's own in another order; where the order says something (offsets, ranges), as they are."""
    if not isinstance(example, torch.Tensor) or example.numel() < 2 or example.is_complex():
        return example
    flat = example.reshape(-1)
    if not example.is_floating_point():
        return example if is_ordered(flat) else flat[order(flat)].reshape(example.shape)
    sample = flat[:4096].float()
    if not bool(torch.isfinite(sample).all()) or sample.unique().numel() <= min(16, sample.numel() // 2):
        return example
    low, high = flat.min(), flat.max()
    # Of the same mean and spread, within the same bounds: a probability stays one.
    drawn = torch.randn(example.shape, device=torch.empty(0).device).to(flat.device) * flat.float().std() + flat.float().mean()
    return drawn.to(example.dtype).clamp(low, high)


def is_ordered(flat):
    if flat.dtype == torch.bool:
        return False
    steps = flat[1:] - flat[:-1]
    return bool((steps >= 0).all()) or bool((steps <= 0).all())


def order(flat):
    return torch.randperm(flat.numel(), device=torch.empty(0).device).to(flat.device)
