"""Trials that the reference server keeps, asked about as C++ asks: through an arena that this process owns."""

import math
import os
import socket
import unittest

import torch

from ..base import safetensors
from .server_test import EXAMPLES, Case

TASK = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.linear = nn.Linear(9, 9)

    def forward(self, x, y):
        z = self.linear(self.norm(x.mT))
        y.mul_(2)
        return z, z.argmax(-1)

def get_init_inputs():
    return []

def get_inputs():
    return [torch.rand(5, 4, 9).mT, torch.rand(3)]
"""
OVERFLOWS = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x * 256 / 256

def get_init_inputs():
    return []

def get_inputs():
    return [torch.tensor([1, 1000, 1000, 1], dtype=torch.float16)]
"""
UPDATES = ["norm.running_mean", "norm.running_var", "norm.num_batches_tracked"]
OUTPUTS = [["output_0", "f32"], ["output_1", "i64"], ["update:norm.running_mean", "f32"], ["update:input_1", "f32"]]


class HeldTest(Case):
    device = "cpu"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.arena = os.memfd_create("arena")
        os.ftruncate(cls.arena, 1 << 20)
        with open(cls.path("task.py"), "w") as file:
            file.write(TASK)

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        os.close(cls.arena)

    def setUp(self):
        self.ask("load", task=self.path("task.py"), device=self.device)
        self.ask("share", path=f"/proc/{os.getpid()}/fd/{self.arena}")

    def error(self, do, **fields):
        return super().error(do, **fields)["message"]

    def hold(self, trial, **fields):
        return self.ask("hold", trial=trial, mode="strict", outputs=OUTPUTS, updates=UPDATES, **{"seed": 5, **fields})

    def write(self, tensor, offset):
        os.pwrite(self.arena, bytes(tensor.contiguous().view(-1).view(torch.uint8).tolist()), offset)

    def read(self, offset, dtype, shape):
        data = os.pread(self.arena, math.prod(shape) * dtype.itemsize, offset)
        return torch.frombuffer(bytearray(data), dtype=dtype).reshape(shape)

    def results(self, mode):
        """What evaluate writes down for the same inputs."""
        self.ask("draw", seed=5, out=self.path("inputs"))
        self.ask("evaluate", inputs=self.path("inputs"), mode=mode, out=self.path("result"))
        return safetensors.read(self.path("inputs")), safetensors.read(self.path("result"))

    def test_what_is_held_is_what_evaluate_gives(self):
        answer = self.hold(1)
        self.assertEqual([output["shape"] for output in answer["outputs"]], [[5, 4, 9], [5, 4], [4], [3]])
        inputs, truth = self.results("float64")
        _, pytorch = self.results("strict")
        self.ask("put", trial=1, inputs=[[0, 256], [1, 4096]])
        self.assertTrue(torch.equal(self.read(256, torch.float32, (5, 9, 4)), inputs["input_0"]))
        self.assertTrue(torch.equal(self.read(4096, torch.float32, (3,)), inputs["input_1"]))
        self.assertTrue(self.ask("same_input", trial=1, input=0, offset=256)["same"])
        self.write(torch.tensor([7], dtype=torch.uint8), 300)
        self.assertFalse(self.ask("same_input", trial=1, input=0, offset=256)["same"])
        for i, (name, _) in enumerate(OUTPUTS):
            with self.subTest(name):
                self.write(pytorch[name], 512)
                own = self.ask("distance", trial=1, output=i, dtype="i64" if i == 1 else "f32", offset=512)["distance"]
                self.assertEqual(own, answer["outputs"][i]["pytorch"])
                self.assertAlmostEqual(own["error"], 0 if i == 1 else (pytorch[name].double() - truth[name]).norm().item(), places=12)
        self.write(pytorch["output_1"] + 1, 512)
        own = self.ask("distance", trial=1, output=1, dtype="i64", offset=512)["distance"]
        self.assertEqual((own["unequal"], own["first_bad"], own["elements"]), (20, 0, 20))
        self.write(torch.full((5, 4, 9), float("nan")), 512)
        self.assertEqual(self.ask("distance", trial=1, output=0, dtype="f32", offset=512)["distance"]["not_finite"], 180)

    def test_close_to_pytorchs_own(self):
        self.hold(1, own=True)
        _, pytorch = self.results("strict")
        values = pytorch["output_0"].clone()
        self.write(values, 512)
        asked = {"trial": 1, "output": 0, "dtype": "f32", "offset": 512, "tolerance": 1e-4}
        self.assertEqual(self.ask("outside", **asked)["outside"], 0)
        values.view(-1)[:9] += 1
        values.view(-1)[9] = float("nan")
        values.view(-1)[10:] *= 1 + 5e-5
        self.write(values, 512)
        self.assertEqual(self.ask("outside", **asked)["outside"], 10 / 180)
        self.hold(2)
        self.assertIn("were not kept", self.error("outside", **{**asked, "trial": 2}))

    def share_device(self, count):
        """The descriptor and its size, as C++ gets them."""
        path = self.path("socket")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as box:
            box.bind(path)
            size = self.ask("share_device", bytes=count, socket=path)["bytes"]
            _, descriptors, _, _ = socket.recv_fds(box, 1, 1)
        os.unlink(path)
        self.assertEqual(len(descriptors), 1)
        return descriptors[0], size

    def test_memory_of_the_device(self):
        self.hold(1)
        self.assertIn("no memory of the device", self.error("put", trial=1, inputs=[[0, 0, "device"]]))
        descriptor, size = self.share_device(5000)
        self.addCleanup(os.close, descriptor)
        self.assertGreaterEqual(size, 5000)
        self.ask("fetch", offset=0, ranges=[[0, 5000]], to=256)
        self.assertFalse(self.read(256, torch.uint8, (5000,)).any())
        self.ask("put", trial=1, inputs=[[0, 0, "device"], [1, 1024, "device"], [1, 4096]])
        inputs, truth = self.results("float64")
        y, count = inputs["input_1"], inputs["input_0"].numel() * 4
        self.assertTrue(torch.equal(self.read(4096, torch.float32, (3,)), y))
        self.ask("fetch", offset=0, ranges=[[0, count], [1024, 1036]], to=256)
        self.assertTrue(torch.equal(self.read(256, torch.float32, (5, 9, 4)), inputs["input_0"]))
        self.assertTrue(torch.equal(self.read(256 + count, torch.float32, (3,)), y))
        self.assertTrue(self.ask("same_input", trial=1, input=1, offset=1024, where="device")["same"])
        self.assertFalse(self.ask("same_input", trial=1, input=1, offset=0, where="device")["same"])
        own = self.ask("distance", trial=1, output=3, dtype="f32", offset=1024, where="device")["distance"]
        self.assertAlmostEqual(own["error"], (y.double() - truth["update:input_1"]).norm().item(), places=12)
        first = self.ask("fingerprint", offset=1024, bytes=12)["fingerprint"]
        self.ask("put", trial=1, inputs=[[1, 2048, "device"], [0, 1024, "device"]])
        self.assertEqual(self.ask("fingerprint", offset=2048, bytes=12)["fingerprint"], first)
        self.assertNotEqual(self.ask("fingerprint", offset=1024, bytes=12)["fingerprint"], first)
        self.assertIn("outside of the device arena", self.error("fingerprint", offset=size - 4, bytes=12))
        self.ask("unshare_device")
        self.assertIn("no memory of the device", self.error("fingerprint", offset=0, bytes=4))
        self.assertIn("nobody takes", self.error("share_device", bytes=100, socket=self.path("nowhere")))
        self.addCleanup(os.close, self.share_device(100)[0])
        self.ask("load", task=self.path("task.py"), device=self.device)
        self.assertIn("no memory of the device", self.error("fingerprint", offset=0, bytes=4))

    def test_imitations(self):
        self.hold(1)
        self.hold(2, seed=6, distribution="normal")
        norm = self.ask("imitate", trial=1, output=0, by="zeros")["distances"][0]
        self.assertEqual(norm["error"], norm["truth"])
        self.assertLess(self.ask("imitate", trial=1, output=0, by="mean")["distances"][0]["error"], norm["error"])
        self.assertEqual(self.ask("imitate", trial=1, output=0, by="input")["distances"], [])
        self.assertEqual(len(self.ask("imitate", trial=1, output=3, by="input")["distances"]), 1)
        self.assertGreater(self.ask("imitate", trial=1, output=0, by="another", other=2)["distances"][0]["error"], 0)
        self.assertEqual(self.ask("imitate", trial=1, output=0, by="another", other=1)["distances"][0]["error"], 0)

    def test_weights_of_the_time(self):
        first = self.hold(1)["outputs"][0]["pytorch"]["truth"]
        self.ask("weights", variant="reparameterised", seed=1)
        self.assertNotEqual(self.hold(2)["outputs"][0]["pytorch"]["truth"], first)
        self.assertEqual(self.ask("imitate", trial=1, output=0, by="zeros")["distances"][0]["truth"], first)

    def test_what_overflows_in_pytorch_too_does_not_count(self):
        with open(self.path("overflows.py"), "w") as file:
            file.write(OVERFLOWS)
        self.ask("load", task=self.path("overflows.py"), device=self.device)
        self.ask("share", path=f"/proc/{os.getpid()}/fd/{self.arena}")
        pytorch = self.ask("hold", trial=1, seed=5, mode="strict", outputs=[["output_0", "f16"]])["outputs"][0]["pytorch"]
        self.assertEqual((pytorch["not_finite"], pytorch["first_bad"]), (2, 1))
        values = torch.tensor([1.0, math.inf, math.inf, 1.0], dtype=torch.float16)
        for place, bad in ((None, 0), (3, 1)):
            if place is not None:
                values[place] = math.nan
            self.write(values, 512)
            self.assertEqual(self.ask("distance", trial=1, output=0, dtype="f16", offset=512)["distance"]["not_finite"], bad)

    def test_letting_go(self):
        self.hold(1, patient=True)
        self.ask("let_go", trials=[1, 7])
        self.assertIn("no trial 1", self.error("put", trial=1, inputs=[]))

    def test_wrong_requests(self):
        self.hold(1)
        self.assertIn("there is no output 9", self.error("distance", trial=1, output=9, dtype="f32", offset=0))
        self.assertIn("outside of the arena", self.error("distance", trial=1, output=0, dtype="f32", offset=1 << 30))
        self.assertIn("gives no 'output_7'", self.error("hold", trial=3, seed=1, mode="strict", outputs=[["output_7", "f32"]], updates=UPDATES))
        self.assertIn("not [name, dtype]", self.error("hold", trial=3, seed=1, mode="strict", outputs=[["output_0", "f3"]]))
        self.assertIn("cannot open", self.error("share", path="/nowhere"))
        self.ask("load", task=os.path.join(EXAMPLES, "mlp.py"), device=self.device)
        self.assertIn("no trial 1", self.error("put", trial=1, inputs=[]))
        self.ask("hold", trial=1, seed=1, mode="strict", outputs=[["output_0", "f32"]])
        self.assertIn("no memory of the host is shared", self.error("put", trial=1, inputs=[[0, 0]]))


@unittest.skipUnless(torch.cuda.is_available(), "needs a GPU")
class HeldOnGpuTest(HeldTest):
    device = "cuda"

    def test_memory_of_the_device_comes_back(self):
        def free():
            return torch.cuda.mem_get_info()[0]

        before, large, little = free(), 4 << 30, 1 << 30
        descriptor, size = self.share_device(large - 5)
        self.assertGreaterEqual(size, large - 5)
        self.assertLess(free(), before - large + little)
        self.hold(1, patient=True)  # not another process's memory
        self.ask("unshare_device")
        self.assertLess(free(), before - large + little, "whoever holds the descriptor keeps it")
        os.close(descriptor)
        self.assertGreater(free(), before - little)
        self.error("share_device", bytes=1 << 40, socket=self.path("socket"))
        self.hold(2)
