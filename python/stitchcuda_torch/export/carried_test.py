"""What forward changes in its module is an update of the graph, or the model is refused with its name."""

import copy
import unittest

import torch
from torch import nn

from ..base.errors import TaskError
from . import trace


class Around(nn.Module):
    """What matters lies in a submodule."""

    def __init__(self, inner):
        super().__init__()
        self.inner = nn.ModuleList([inner])

    def forward(self, x):
        return self.inner[0](x)


class Forward(nn.Module):
    def __init__(self, forward, **attributes):
        super().__init__()
        self.run = forward
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, x):
        return self.run(self, x)


def export(module):
    model = Around(module)
    return trace.export(model, trace.as_fake(((torch.rand(4, 8),), {})), __file__, draw=lambda i: ((torch.rand(4, 8) + i,), {})), model


def second_call(program, model, x):
    """What a program computes in its second call, and what the model does."""
    model, module = copy.deepcopy(model), program.module(check_guards=False)
    with torch.no_grad():
        return [(module(x), module(2 * x))[1], (model(x), model(2 * x))[1]]


def moving_mean(self, x):
    self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
    return x - self.mean


def difference(self, x):
    before, self.last = self.last, x
    return x - before


def exchange(self, x):
    self.one, self.two = self.two, self.one + x
    return self.one * 2


def old_value(self, x):
    before, self.last = self.last, x + self.last
    return before


def grows(self, x):
    self.cache = torch.cat([self.cache, x])
    return x + self.cache.sum(0)


def appends(self, x):
    self.seen.append(x)
    return sum(self.seen)


def counts(self, x):
    self.calls += 1
    return x * self.calls


def counts_for_itself(self, x):
    self.calls += 1
    return x * 2


def remembers(self, x):
    self.hidden = x if self.hidden is None else torch.tanh(x + self.hidden)
    return self.hidden


def first_of_all(self, x):
    if self.hidden is None:
        self.hidden = x
    return x - self.hidden


def makes_tables_once(self, x):
    if self.hidden is None:
        self.hidden = torch.arange(8.0).cos()
    return x * self.hidden


def leaves_its_map(self, x):
    self.hidden = x.softmax(-1)
    return self.hidden @ x.mT


# State beside the module, in code of the user's own: this file counts as a library.
ELSEWHERE = """
import itertools, random, torch
calls, total, tables, seen = 0, torch.zeros(8), {}, []

def counts(self, x):
    global calls
    calls += 1
    return x * calls

def sums(self, x):
    global total
    total = total + x.mean(0)
    return x + total

def appends(self, x, seen=[]):
    seen.append(1)
    return x * len(seen)

def closure():
    seen = torch.zeros(8)
    def encloses(self, x):
        nonlocal seen
        seen = seen + x.mean(0)
        return x + seen
    return encloses

class Steps:
    __slots__ = ("count",)
    taken = 0

steps = Steps()
steps.count = 0

def counts_in_class(self, x):
    Steps.taken += 1
    return x * Steps.taken

def counts_in_slot(self, x):
    steps.count += 1
    return x * steps.count

numbers = itertools.count(1)

def iterates(self, x):
    return x * next(numbers)

def rolls(self, x):
    return x * random.random()

def rolls_for_nothing(self, x):
    return x * 2 if random.random() < 2 else x

def makes_table(self, x):
    if 8 not in tables:
        tables[8] = torch.arange(8.0)
    return x + tables[8]
"""


class CarriedTest(unittest.TestCase):
    def test_state_beside_the_module_is_refused_by_name(self):
        own = {"__name__": "elsewhere"}
        exec(ELSEWHERE, own)
        for forward, name in [
            (own["counts"], "run.calls"),
            (own["sums"], "run.total"),
            (own["appends"], "run.default 0"),
            (own["closure"](), "run.seen"),
            (own["counts_in_class"], "Steps.taken"),
            (own["counts_in_slot"], "run.steps.count"),
            (own["iterates"], "run.numbers.place"),
            (own["rolls"], "random numbers"),
        ]:
            with self.subTest(name), self.assertRaisesRegex(TaskError, f"forward (changes|draws from) .*{name}"):
                export(Forward(forward))
        self.assertEqual((own["calls"], own["Steps"].taken, own["steps"].count), (0, 0, 0))
        for forward in (own["rolls_for_nothing"], own["makes_table"]):
            program, model = export(Forward(forward))
            torch.testing.assert_close(*second_call(program, model, torch.rand(4, 8)))

    def test_assigned_tensors_are_updates(self):
        for forward, attributes in [
            (moving_mean, {"mean": torch.zeros(8)}),
            (difference, {"last": torch.zeros(4, 8)}),
            (old_value, {"last": torch.ones(4, 8)}),
            (exchange, {"one": torch.zeros(4, 8), "two": torch.ones(4, 8)}),
        ]:
            with self.subTest(forward.__name__):
                program, model = export(Forward(forward, **attributes))
                x = torch.rand(4, 8)
                torch.testing.assert_close(*second_call(program, model, x))

    def test_what_no_program_carries_is_refused_by_name(self):
        for forward, attributes in [
            (counts, {"calls": 0}),
            (counts_for_itself, {"calls": 0}),
            (appends, {"seen": []}),
            (remembers, {"hidden": None}),
            (first_of_all, {"hidden": None}),
            (grows, {"cache": torch.zeros(1, 8)}),
        ]:
            name = next(iter(attributes))
            with self.subTest(forward.__name__), self.assertRaisesRegex(TaskError, f"forward changes 'inner.0.{name}") as raised:
                export(Forward(forward, **attributes))
            self.assertIn("register_buffer", raised.exception.fix)

    def test_what_no_later_call_reads_is_no_state(self):
        for forward in [makes_tables_once, leaves_its_map]:
            with self.subTest(forward.__name__):
                program, model = export(Forward(forward, hidden=None))
                self.assertIsNone(model.inner[0].hidden)
                torch.testing.assert_close(*second_call(program, model, torch.rand(4, 8)))
        program, _ = export(Forward(leaves_its_map, hidden=torch.zeros(4, 8)))
        self.assertNotIn("copy_", str(program.graph))

    def test_weights_made_by_hooks_are_no_state(self):
        program, model = export(torch.nn.utils.weight_norm(nn.Linear(8, 8)))
        self.assertNotIn("copy_", str(program.graph))
