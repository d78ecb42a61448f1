"""The reference server on a GPU: classes against float64, the four baselines, memory and profile."""

import os
import unittest

import torch

from ..base import safetensors
from .server_test import EXAMPLES, Case


def setUpModule():
    if not torch.cuda.is_available():
        raise unittest.SkipTest("needs a GPU")


class ReferenceServerGpuTest(Case):
    quiet = False  # compilers say what they like

    def load(self, name, **fields):
        return self.ask("load", task=os.path.join(EXAMPLES, name + ".py"), device="cuda", **fields)

    def evaluate(self, mode, **fields):
        answer = self.ask("evaluate", inputs=self.path("inputs"), mode=mode, out=self.path("result"), **fields)
        return safetensors.read(self.path("result")), answer

    def test_classes(self):
        for name in ("resnet18", "lstm", "gpt_block", "swin_v2", "conv3d_net", "rnn_with_state", "mamba2"):
            with self.subTest(name):
                answer = self.load(name)
                self.assertIn("NVIDIA", answer["gpu"])
                self.ask("weights", variant="reparameterised", seed=3, out=self.path("weights"))
                self.ask("draw", distribution="normal", seed=5, out=self.path("inputs"))
                exact, answer = self.evaluate("float64")
                slow, other = self.evaluate("float64", device="cpu")
                self.assertEqual((answer["device"], other["device"]), ("cuda", "cpu"))
                self.assertEqual(set(exact), set(slow))
                errors = {"cpu": distance(slow, exact)}
                for mode in ("strict", "default", "tf32", "half"):
                    tensors, _ = self.evaluate(mode)
                    errors[mode] = distance(tensors, exact)
                print(name, {mode: f"{error:.1e}" for mode, error in errors.items()})
                self.assertLess(errors["cpu"], 1e-9)
                self.assertLess(errors["strict"], 1e-4)

    def test_baselines(self):
        for name, numerics in [("resnet18", "default"), ("gpt_block", "half"), ("lstm", "tf32"), ("mlp", "strict")]:
            with self.subTest(name):
                self.load(name)
                for kind in ("eager", "eager-graph", "compile", "compile-graph"):
                    answer = self.ask("baseline", kind=kind, numerics=numerics, seed=11)
                    self.assertNotIn("unavailable", answer)
                    self.assertLess(answer["relative_l2"], 2e-2)
                    times = self.ask("time", kind=kind, count=20, flush=256 << 20)
                    wall, event = sorted(times["wall_ns"])[10], sorted(times["event_ns"])[10]
                    print(
                        name,
                        kind,
                        f"{wall / 1e3:.0f} us, events {event / 1e3:.0f} us, {answer['relative_l2']:.1e}, prepared in {answer['seconds']} s",
                    )
                    self.assertTrue(0 < event <= wall * 1.05)
                activities = self.ask("profile", kind="eager-graph")["activities"]
                self.assertTrue(activities and all(entry["end_ns"] >= entry["start_ns"] for entry in activities))
                print(name, len(activities), "activities, the first", activities[0])
                memory = self.ask("memory")
                self.assertGreater(memory["forward_bytes"], 0)

    def test_what_cannot_be_captured(self):
        path = self.path("task.py")
        with open(path, "w") as file:
            file.write(
                "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x * x.sum().item()\n"
                "def get_init_inputs():\n    return []\ndef get_inputs():\n    return [torch.rand(4)]\n"
            )
        self.ask("load", task=path, device="cuda")
        self.assertIn("eager-graph failed", self.ask("baseline", kind="eager-graph")["unavailable"])
        self.assertEqual(self.ask("baseline", kind="eager")["relative_l2"], 0)
        self.ask("time", kind="eager", count=3)


def distance(tensors, exact):
    got, wanted = tensors["output_0"].double(), exact["output_0"]
    return ((got - wanted).norm() / wanted.norm()).item()
