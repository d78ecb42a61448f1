"""Candidates made of the task's own model: the same results to rounding, whatever way they take."""

import json
import os
import sys
import tempfile
import unittest

import torch

from . import kernelbench

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tools"))

import kernelbench_evaluator as tool

REFERENCE = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(3, width, 3)

    def forward(self, x):
        return self.conv(x)
"""


class WaysTest(unittest.TestCase):
    def test_every_way_computes_the_same(self):
        for way in kernelbench.WAYS:
            names = {}
            exec(REFERENCE, names)
            exec(kernelbench.candidate_by(way), names)
            torch.manual_seed(1)
            model = names["Model"](4)
            torch.manual_seed(1)
            other, x = names["ModelNew"](4), torch.randn(5, 3, 8, 8)
            with torch.no_grad():
                expected, got = model(x), other(x)
            self.assertEqual((got.dtype, got.shape), (torch.float32, expected.shape), way)
            self.assertLess(float((got - expected).abs().max()), 1e-5, way)
            self.assertFalse(torch.backends.cudnn.benchmark)
        with self.assertRaisesRegex(ValueError, "unknown way"):
            kernelbench.candidate_by("magic")

    def test_the_table(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("2_B", "10_C", "1_A"):
                os.makedirs(os.path.join(folder, "KernelBench", "level3"), exist_ok=True)
                open(os.path.join(folder, "KernelBench", "level3", name + ".py"), "w").close()
            for name in ("10_C", "1_A"):
                os.makedirs(os.path.join(folder, "out", "programs", "level3", name))
                open(os.path.join(folder, "out", "programs", "level3", name, "model_new.py"), "w").close()
            tasks = tool.tasks_of(folder, os.path.join(folder, "out"), 3)
            self.assertEqual([task["name"] for task in tasks], ["level3/1_A", "level3/10_C"])
            results = os.path.join(folder, "results.jsonl")
            records = [
                {"name": "level3/1_A", "level": 3, "correct": True, "largest": None, "metadata": {}},
                {
                    "name": "level3/10_C",
                    "level": 3,
                    "correct": False,
                    "largest": 0.25,
                    "metadata": {},
                    "pytorch": {"search": {"correct": False, "largest": 0.125}, "fp32": {"correct": True, "largest": None}},
                },
            ]
            with open(results, "w") as file:
                file.write("".join(json.dumps(record) + "\n" for record in records) + '{"name": "half')
            self.assertEqual(set(tool.read_results(results)), {"level3/1_A", "level3/10_C"})
            text = tool.table(records)
            self.assertIn("| 3 | 1 of 2 | 1 | 1 |", text)
            self.assertIn("| level3/10_C | 0.25 | search 0.12, fp32 accepted |", text)
