"""What a fingerprint tells apart, and what it doesn't: weights, and the process."""

import functools
import os
import subprocess
import sys
import threading
import unittest
import unittest.mock

import torch
from torch import nn

from . import fingerprint

factor = 2.0


def scaled(x):
    return x * factor


class Config:
    def __init__(self, **values):
        self.__dict__.update(values)


class Model(nn.Module):
    def __init__(self, **config):
        super().__init__()
        self.config = Config(**config)
        self.first, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)
        self.activation = functools.partial(nn.functional.leaky_relu, negative_slope=0.1)
        self.names = {"a", "b", "c"}

    def forward(self, x):
        return scaled(self.activation(self.norm(self.first(x))))


def made(**config):
    torch.manual_seed(0)
    return Model(**config).eval()


def of(model, *args, **choices):
    return fingerprint.of(model, args or (torch.zeros(2, 4),), {}, choices)


class FingerprintTest(unittest.TestCase):
    def test_the_same_in_another_process(self):
        self.assertIsNotNone(of(made(width=3)))
        found = subprocess.run(
            [sys.executable, "-c", "from stitchcuda import fingerprint_test as t; print(t.of(t.made(width=3)))"],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        self.assertEqual(found.stdout.strip(), of(made(width=3)))

    def test_weights_count_by_their_form(self):
        model = made()
        with torch.no_grad():
            model.first.weight.mul_(2)
        self.assertEqual(of(model), of(made()))
        self.assertEqual(of(model, torch.ones(2, 4)), of(made()))
        model.norm = nn.BatchNorm1d(32).eval()
        before = of(model)
        model.norm.running_mean.add_(1)
        self.assertEqual(of(model), before)

    def test_whatever_forward_may_see_counts(self):
        known = {of(made())}

        def new(mark):
            self.assertIsNotNone(mark)
            self.assertNotIn(mark, known)
            known.add(mark)

        def changed(change):
            model = made()
            change(model)
            new(of(model))

        new(of(made(), torch.zeros(3, 4)))
        new(of(made(), torch.zeros(2, 4).double()))
        new(of(made(), numerics="strict"))
        new(of(made(width=3)))
        new(of(made(width=3.0)))
        changed(lambda model: model.train())
        changed(lambda model: model.norm.running_mean.add_(1))
        changed(lambda model: setattr(model.norm, "eps", 1e-3))
        changed(lambda model: setattr(model, "first", nn.Linear(4, 4, bias=False)))
        changed(lambda model: setattr(model, "activation", nn.functional.relu))
        changed(lambda model: setattr(model, "activation", lambda x: x + 1))
        changed(lambda model: setattr(model, "activation", lambda x: x + 2))
        changed(lambda model: model.register_forward_hook(lambda module, args, result: result + 1))
        changed(lambda model: setattr(model.first, "bias", model.norm.bias))
        with torch.autocast("cpu"):
            new(of(made()))
        for change in ({"factor": 3.0}, {"scaled": lambda x: x * factor + 1}):
            with unittest.mock.patch.dict(globals(), change):
                new(of(made()))

    def test_what_may_be_anything_has_none(self):
        for value in (threading.Lock(), iter([1]), torch.Generator(), object(), nn.Parameter(torch.zeros(2)).to_sparse()):
            self.assertIsNone(of(made(other=value)), value)
        model = made()
        model.register_buffer("large", torch.empty(fingerprint.MOST_BYTES + 1, dtype=torch.int8))
        self.assertIsNone(of(model))
