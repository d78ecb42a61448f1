import json
import os
import subprocess
import sys
import tempfile
import unittest

from .. import FOLDER
from ..base import safetensors

PYTHON_FOLDER = os.path.dirname(FOLDER)
SOURCE = """
import torch
from stitchcuda_torch.cases.case import Case

def cases():
    yield Case("add", lambda a, b: a + b, (torch.rand(3), torch.rand(3)))
    yield Case("norm", torch.nn.BatchNorm1d(4), (torch.rand(8, 4),), tolerance=1e-12)
    yield Case("broken", lambda a: a @ a, (torch.rand(2, 3),))
"""


class CasesTest(unittest.TestCase):
    def make(self, folder, source):
        path = os.path.join(folder, "small.py")
        with open(path, "w") as file:
            file.write(source)
        os.utime(path, (1, 1))  # older than anything made from it
        return self.again(folder)

    def again(self, folder):
        return subprocess.run(
            [sys.executable, "-m", "stitchcuda_torch.cases", os.path.join(folder, "small.py"), "--out", os.path.join(folder, "out")],
            cwd=PYTHON_FOLDER,
            capture_output=True,
            text=True,
        )

    def test_made_once_and_failures_listed(self):
        with tempfile.TemporaryDirectory() as folder:
            run = self.make(folder, SOURCE)
            self.assertEqual(run.returncode, 1)
            self.assertIn("failed: small.broken: RuntimeError", run.stdout)
            self.assertIn("2 cases made, 0 up to date, 1 failed", run.stdout)
            case = os.path.join(folder, "out", "small.norm")
            expected = safetensors.read(os.path.join(case, "expected.safetensors"))
            self.assertEqual(set(expected), {"output.0", "update.running_mean", "update.running_var", "update.num_batches_tracked"})
            self.assertEqual(str(expected["output.0"].dtype), "torch.float64")
            with open(os.path.join(case, "case.json")) as file:
                self.assertEqual(json.load(file), {"name": "small.norm", "tolerance": 1e-12})
            self.make(folder, SOURCE.rsplit("\n", 2)[0] + "\n")
            self.assertIn("0 cases made, 2 up to date, 0 failed", self.again(folder).stdout)
