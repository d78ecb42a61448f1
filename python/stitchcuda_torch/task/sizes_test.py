import os
import tempfile
import unittest

import torch

from ..base.errors import TaskError
from . import sizes
from .task import Task

TASK = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, mask, scale=1.0):
        return x * mask * scale

def get_init_inputs():
    return []

def get_inputs(batch=4):
    return [torch.rand(batch, 6), torch.tensor([[True], [False]]).repeat(batch // 2 + 1, 1)[:batch]]

def get_dynamic_shapes():
    return {"x": {0: torch.export.Dim("batch", min=1, max=64), 1: ("width", 2, 12, 2)}, "mask": {0: torch.export.Dim("batch", min=1, max=64)}}
"""


class SizesTest(unittest.TestCase):
    def task_of(self, text=TASK):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "model.py")
        with open(path, "w") as file:
            file.write(text)
        return Task(path)

    def test_a_task_says_them_as_torch_export_does(self):
        self.assertEqual(
            sizes.described(self.task_of()),
            [
                {"name": "batch", "least": 1, "most": 64, "multiple": 1, "places": [[0, 0], [1, 0]]},
                {"name": "width", "least": 2, "most": 12, "multiple": 2, "places": [[0, 1]]},
            ],
        )
        self.assertEqual(sizes.described(self.task_of(TASK.split("def get_dynamic")[0])), [])

    def test_other_forms(self):
        x = torch.zeros(4, 8)
        batch = torch.export.Dim("batch", min=2, max=8)

        def of(declared, args=(x,), names=("x",)):
            return sizes.of_arguments(declared, list(names), args, {})

        self.assertEqual(of(({0: batch},))[0]["least"], 2)  # by position
        self.assertEqual(of({"x": (batch, None)})[0]["places"], [[0, 0]])  # a tuple of dimensions
        self.assertEqual(of({"x": {-1: ("w", 1, 9)}})[0]["places"], [[0, 1]])
        self.assertEqual(
            of({"x": {0: 4 * torch.export.Dim("k", min=1, max=9)}})[0], {"name": "k", "least": 4, "most": 36, "multiple": 4, "places": [[0, 0]]}
        )
        self.assertEqual(of({"xs": [{0: batch}, None]}, ([x, x],), ("xs",))[0]["places"], [[0, 0]])

    def test_mistakes_are_named(self):
        x = torch.zeros(4, 8)
        batch = torch.export.Dim("batch", min=1, max=8)
        for declared, message in (
            ({"y": {0: batch}}, "forward takes no 'y' here, but x"),
            ({"x": {2: batch}}, "'x' has 2 dimensions, and no dimension 2"),
            ({"x": {0: torch.export.Dim("batch")}}, "without a name and a range"),
            ({"x": {0: torch.export.Dim.AUTO}}, "without a name and a range"),
            ({"x": {0: ("a b", 1, 2)}}, "'a b' is no name"),
            ({"x": {0: ("n", 5, 2)}}, "n is from 5 to 2"),
            ({"x": {0: ("n", 1, 8), 1: ("n", 1, 9)}}, "n is declared with two ranges"),
        ):
            with self.assertRaises(TaskError) as raised:
                sizes.of_arguments(declared, ["x"], (x,), {})
            self.assertIn(message, raised.exception.message)

    def test_inputs_have_other_sizes(self):
        task = self.task_of()
        places = {"batch": [[0, 0], [1, 0]], "width": [[0, 1]]}
        sizes.resize(task, {"batch": 7, "width": 10}, places)
        (x, mask), _ = task.make_inputs()
        self.assertEqual((x.shape, mask.shape), ((7, 10), (7, 1)))
        sizes.resize(task, {"batch": 2, "width": 6}, places)
        self.assertEqual(task.make_inputs()[0][0].shape, (2, 6))

    def test_values_stay_possible(self):
        self.assertTrue(bool((sizes.fit(torch.arange(5), {0: 12}) < 5).all()))
        drawn = sizes.fit(torch.full((3,), 0.25), {0: 9})
        self.assertEqual(drawn.tolist(), [0.25] * 9)

    def test_a_task_at_sizes_is_a_task(self):
        task = self.task_of()
        path = os.path.join(os.path.dirname(task.file), "there.py")
        with open(path, "w") as file:
            file.write(
                f'from stitchcuda_torch.task.sizes import at\nglobals().update(at({task.file!r}, {{"batch": 3}}, {{"batch": [[0, 0], [1, 0]]}}))\n'
            )
        there = Task(path)
        (x, mask), _ = there.make_inputs()
        self.assertEqual(there.construct()(x, mask).shape, (3, 6))
