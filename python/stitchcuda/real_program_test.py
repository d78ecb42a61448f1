"""One program all the way: optimized by the tool, compiled for the emulated GPU, called in this process."""

import copy
import importlib.util
import os
import tempfile
import unittest

import torch
from torch import nn

import stitchcuda

from . import tool


class Normed(nn.Module):
    """With state: in training mode, batch norm changes its statistics."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(8, 4), nn.BatchNorm1d(4)

    def forward(self, x, *, scale=1.0):
        return {"y": torch.relu(self.norm(self.linear(x))) * scale}


TASK = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 4)
        self.register_buffer("shift", torch.ones(4))

    def forward(self, x, *, scale=1.0):
        return {"y": torch.relu(self.linear(x)) * scale + self.shift * torch.tensor([1.0, 2.0, 3.0, 4.0])}

def get_inputs():
    return [torch.randn(6, 8)]

def get_init_inputs():
    return []
"""


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
        with self.assertWarnsRegex(UserWarning, "1 batch norm uses the batch's statistics"):
            fast = stitchcuda.optimize(model, (x,), quick=True, budget=1, progress=False, options=["--store", "none"])
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

    def test_a_folder_of_the_command_line(self):
        task, out = os.path.join(self.folder, "task.py"), os.path.join(self.folder, "out")
        with open(task, "w") as file:
            file.write(TASK)
        code, said, errors = tool.run(["code", task, "-o", out])
        self.assertEqual(code, 0, said + errors)
        written = sorted(os.listdir(out))
        spec = importlib.util.spec_from_file_location("task_of_a_test", task)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        model, x = module.Model().eval(), torch.randn(6, 8)
        loaded = stitchcuda.load(out)
        model.load_state_dict(loaded.state_dict())
        self.near(loaded(x)["y"], model(x)["y"])
        shared = stitchcuda.load(out, model=model)
        with torch.no_grad():
            model.linear.weight.mul_(3)
        self.near(shared(x=x)["y"], model(x)["y"])
        self.assertEqual(sorted(os.listdir(out)), written, "the folder stays as it was written")
        os.remove(os.path.join(out, "weights.safetensors"))
        with self.assertRaisesRegex(stitchcuda.StitchError, r"(?s)has no weights.*model=model"):
            stitchcuda.load(out)

    def near(self, a, b):
        self.assertTrue(torch.allclose(a, b, rtol=1e-4, atol=1e-5), (a, b))
