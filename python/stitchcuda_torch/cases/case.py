"""One piece of test data: something to run on small inputs; and its files: the export, the inputs and the float64 answer."""

import dataclasses
import json
import os
from typing import Callable

import torch
from torch.utils import _pytree as pytree

from ..base import safetensors
from ..export import run as export
from ..export import trace
from ..reference.float64 import run_calls
from ..task.task import Task, load_module

LARGEST = 1 << 28  # bytes of inputs, or of weights: test data is small, and float64 copies follow


@dataclasses.dataclass
class Case:
    name: str
    run: Callable  # an nn.Module, or a plain function of tensors
    inputs: tuple
    eval: bool = False
    tolerance: float = 1e-10
    again: tuple = ()  # inputs of a second call, on the state that the first one leaves

    def module(self):
        module = self.run if isinstance(self.run, torch.nn.Module) else _Function(self.run)
        return module.eval() if self.eval else module


class _Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def each_case(file):
    """(folder name, function that gives the Case) for every case of a file, each built from a seed of its own."""
    module = load_module(file)
    stem = os.path.splitext(os.path.basename(file))[0]
    if not hasattr(module, "cases"):
        yield stem, lambda: task_case(file, stem)
        return
    cases, seed = iter(module.cases()), 1000
    while True:
        torch.manual_seed(seed)
        case = next(cases, None)
        if case is None:
            return
        yield f"{stem}.{case.name}", lambda case=case: case
        seed += 1


def task_case(file, name):
    task = Task(file)
    check_size("inputs", trace.fake_inputs(task))
    model = task.construct()
    check_size("weights", list(model.parameters()))
    positional, keyword = task.make_inputs()
    if keyword:
        raise ValueError("get_inputs() of a case must return a list")
    return Case(name, model, positional)


def check_size(what, tensors):
    size = sum(t.numel() * t.element_size() for t in pytree.tree_leaves(tensors) if isinstance(t, torch.Tensor))
    if size > LARGEST:
        raise ValueError(f"its {what} take {size >> 20} MB; test data may take {LARGEST >> 20} MB")


def make(case, name, file, folder):
    module, calls = case.module(), [tuple(case.inputs), *([tuple(case.again)] if case.again else [])]
    torch.manual_seed(42)
    results = run_calls(module, calls)
    program = trace.export(module, trace.as_fake((calls[0], {})), file, draw=lambda i: (calls[i % len(calls)], {}))
    facts = {"name": name, "class": type(module).__name__, "mode": "train" if module.training else "eval", "seed": 42}
    export.write(program, file, facts, folder, with_weights=True)
    given, expected = {}, {}
    for call, inputs, (outputs, updates) in zip(("", "again."), calls, results):
        leaves = pytree.tree_leaves(inputs)
        given.update({f"{call}input.{i}": leaf for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)})
        expected.update({f"{call}output.{i}": output for i, output in enumerate(outputs)})
        expected.update({f"{call}update.{key}": tensor for key, tensor in updates.items()})
    safetensors.write(os.path.join(folder, "inputs.safetensors"), given)
    safetensors.write(os.path.join(folder, "expected.safetensors"), expected)
    with open(os.path.join(folder, "case.json"), "w") as stream:  # last: its presence means that the rest is there
        json.dump({"name": name, "tolerance": case.tolerance}, stream)
