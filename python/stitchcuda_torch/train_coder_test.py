"""The compact Coder's training: on tables that are made up, and the forward pass that C++ has, too."""

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest

import torch

from . import train_coder
from .base import safetensors

CODER = pathlib.Path(__file__).resolve().parents[2] / "src" / "learn" / "coder"
SCORES = CODER / "testdata" / "scores_of_sm_90.json"
OPTIONS = {"members": 6, "epochs": 12, "rate": 3e-3, "seed": 1, "cautions": [2]}


def table_tensors(seconds_of, tasks=60, choices=6, features=8):
    """One region a task; `seconds_of(task, features of a choice)`."""
    generator = torch.Generator().manual_seed(3)
    rows = torch.randn(tasks, choices, features, generator=generator)
    rows[:, :, 0] = torch.tensor([1.0] + [0.0] * (choices - 1))
    seconds = torch.tensor([seconds_of(task, row) for task in range(tasks) for row in rows[task]], dtype=torch.float64)
    sets = ["held-out" if task % 5 == 0 else "validation" if task % 5 == 1 else "train" for task in range(tasks)]
    about = {
        "features": 2,
        "ways": ["loop"],
        "choices": [str(each) for each in range(tasks * choices)],
        "cost_models": ["least estimate"],
        "questions": [{"set": name, "task": f"t{number}", "region": "r", "kind": "loop", "key": str(number)} for number, name in enumerate(sets)],
    }
    return {
        "features": rows.flatten(0, 1),
        "seconds": seconds,
        "estimates": torch.ones(1, tasks * choices).double(),
        "way": torch.zeros(tasks * choices, dtype=torch.int64),
        "first": torch.arange(tasks + 1) * choices,
        "about": torch.frombuffer(bytearray(json.dumps(about).encode()), dtype=torch.uint8),
    }


def learnable(task, row):
    return 1e-5 * (1.0 if row[0] == 1 else 1.1 + 0.3 * float(row[1]))


class Training(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def train(self, seconds_of=learnable, **options):
        """The lines that it printed."""
        safetensors.write(os.path.join(self.folder, "table.safetensors"), table_tensors(seconds_of))
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.code = train_coder.main(self.folder, json.dumps({**OPTIONS, **options}))
        return [json.loads(line) for line in printed.getvalue().splitlines()]

    def test_finds_what_is_faster(self):
        lines = self.train(epochs=40)
        self.assertLess(lines[39]["loss"], lines[0]["loss"])
        done = lines[-1]["done"]
        mean = {each["who"]: each["geomean"] for each in done["compared"]["held-out"]["time_over_built_in"]}
        self.assertLess(mean["compact Coder"], 0.9)
        self.assertLessEqual(mean["best"], mean["compact Coder"])
        self.assertEqual(mean["built-in Planner"], 1)
        self.assertIn("compact Coder, caution 2", mean)
        self.assertLess(done["trained"]["out_of_sample"], 1)
        weights = safetensors.read(os.path.join(self.folder, "coder.safetensors"))
        self.assertEqual(weights["members.5.layers.2.weight"].shape, (12, 1))
        self.assertEqual(json.loads(weights["about"].numpy().tobytes())["ways"], ["loop"])

    def test_keeps_the_built_in_choice_where_nothing_can_be_learned(self):
        def noise(task, row):
            return 1e-5 if row[0] == 1 else 1e-5 * (0.9 if float(row[2] * 1e4) % 8 < 1 else 1.2)

        done = self.train(noise)[-1]["done"]
        self.assertGreater(done["trained"]["out_of_sample_regions"], 5)
        self.assertGreaterEqual(done["trained"]["caution"], 1)
        self.assertLess(done["compared"]["held-out"]["time_over_built_in"][0]["geomean"], 1.01)

    def test_a_choice_that_failed_counts_as_the_built_in_one(self):
        def fails(task, row):
            return learnable(task, row) if row[0] == 1 or float(row[3]) < 0.5 else float("nan")

        for region in self.train(fails)[-1]["done"]["compared"]["held-out"]["regions"]:
            self.assertTrue(0 < region["time"]["compact Coder"] < 10)

    def test_a_stopped_run_continues_with_the_same_curve(self):
        whole = self.train()
        os.remove(os.path.join(self.folder, "checkpoint.pt"))

        def stop(point):
            if point["epoch"] == 5:
                raise KeyboardInterrupt

        table = train_coder.Table(os.path.join(self.folder, "table.safetensors"))
        with self.assertRaises(KeyboardInterrupt):
            train_coder.train(self.folder, table, OPTIONS, stop)
        self.assertEqual(self.train(), whole)
        self.assertIn("other settings", self.train(seed=2)[-1]["error"]["message"])
        self.assertEqual(self.code, 2)
        pathlib.Path(self.folder, "checkpoint.pt").write_bytes(b"half a file")
        self.assertIn("not a checkpoint", self.train()[-1]["error"]["message"])


def scores_of_shipped():
    tensors = safetensors.read(CODER / "weights" / "sm_90.safetensors")
    layers = []
    for number in range(3):
        for part in ("weight", "bias"):
            layers.append(torch.stack([tensors[f"members.{m}.layers.{number}.{part}"] for m in range(6)]).double())
    rows = [[((37 * i + 101 * r) % 17 - 8) / 8 for i in range(layers[0].shape[1])] for r in range(4)]
    return train_coder.score(layers, torch.tensor(rows, dtype=torch.float64))


class Forward(unittest.TestCase):
    """coder_test.cpp reads the same file."""

    def test_scores_of_the_shipped_weights(self):
        wanted = torch.tensor(json.loads(SCORES.read_text()), dtype=torch.float64)
        torch.testing.assert_close(scores_of_shipped(), wanted)


if __name__ == "__main__":
    if "--write" in sys.argv:
        SCORES.write_text(json.dumps(scores_of_shipped().tolist(), indent=1) + "\n")
    else:
        unittest.main()
