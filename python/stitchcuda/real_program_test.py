"""One program all the way: optimized by the tool, compiled for the emulated GPU, called in this process."""

import copy
import os
import tempfile
import unittest

import stitchcuda
import torch
from torch import nn

from . import tool


class Normed(nn.Module):
    """With state: in training mode, batch norm changes its statistics."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(8, 4), nn.BatchNorm1d(4)

    def forward(self, x, *, scale=1.0):
        return {"y": torch.relu(self.norm(self.linear(x))) * scale}


class RealProgramTest(unittest.TestCase):
    def setUp(self):
        try:
            tool.binary()
        except stitchcuda.StitchError as error:
            self.skipTest(str(error))
        if torch.cuda.is_available():
            self.skipTest("this machine has a GPU; the test is of the emulated one")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, before = folder.name, os.environ.get("XDG_CACHE_HOME")
        os.environ["XDG_CACHE_HOME"] = folder.name  # programs anew; STITCHCUDA_CACHE, with compiled objects, stays
        self.addCleanup(lambda: os.environ.update(XDG_CACHE_HOME=before) if before else os.environ.pop("XDG_CACHE_HOME"))

    def test_state_weights_and_files(self):
        torch.manual_seed(0)
        model, x = Normed(), torch.randn(6, 8)
        twin = copy.deepcopy(model)
        with self.assertWarnsRegex(UserWarning, "1 batch norm with the batch's statistics"):
            fast = stitchcuda.optimize(model, (x,), mode="first", quick=True, budget=30, progress=False, options=["--store", "none"])
        self.assertTrue(fast.verdict)
        self.assertGreaterEqual(len(fast.plan["regions"]), 1)
        self.assertTrue(os.path.exists(fast.report()))
        for name, tensor in twin.state_dict().items():  # checking it changed nothing
            self.assertTrue(torch.equal(tensor, model.state_dict()[name]), name)
        for _ in range(2):
            x = torch.randn(6, 8)
            self.near(fast(x)["y"], twin(x)["y"])
            for name, tensor in twin.state_dict().items():
                self.near(fast.state_dict()[name].double(), tensor.double())
        with torch.no_grad():
            model.linear.weight.mul_(3)
            twin.linear.weight.mul_(3)
        self.near(fast(x=x, scale=1.0)["y"], twin(x)["y"])

        path = os.path.join(self.folder, "saved")
        fast.save(path)
        loaded = stitchcuda.load(path)
        self.near(loaded(x)["y"], twin(x)["y"])
        self.near(loaded.norm.running_mean, twin.norm.running_mean)

    def near(self, a, b):
        self.assertTrue(torch.allclose(a, b, rtol=1e-4, atol=1e-5), (a, b))


if __name__ == "__main__":
    unittest.main()
