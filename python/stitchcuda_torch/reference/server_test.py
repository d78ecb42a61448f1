"""What the reference server answers, asked as C++ asks it."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import torch

from .. import FOLDER
from ..base import requests, safetensors
from ..task.task import read_arguments
from . import shared
from .answers import Answers
from .model import Loaded
from .shared import Fingerprints

PYTHON_FOLDER = os.path.dirname(FOLDER)
EXAMPLES = os.path.join(os.path.dirname(PYTHON_FOLDER), "examples")
SHARED = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

TASK = """
import torch
import torch.nn as nn

print("hello from the task")

class Model(nn.Module):
    def __init__(self, width, shape):
        super().__init__()
        self.conv = nn.Conv1d(width, width, 3)
        self.norm = nn.BatchNorm1d(width)
        self.tied = nn.Conv1d(width, width, 3)
        self.tied.weight = self.conv.weight
        self.state = torch.ones(4)

    def forward(self, pair, ids=None, scale=1.0):
        x, y = pair
        {forward}
        self.state = self.state + 1
        y.mul_(2)
        return {{"a": self.norm(self.tied(self.conv(x))), "b": (ids * 2, y * scale)}}

def get_init_inputs():
    return [4, (1, 2)]

def get_inputs():
    return {{"pair": (torch.rand(2, 9, 4).mT, torch.rand(3)), "ids": torch.randint(5, (3,)), "scale": 0.5}}
"""
BUFFERS = ["state", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked"]


class Server:
    """Of the reference, or of other words behind `python -m`; with a folder."""

    def __init__(self, *words):
        command = [sys.executable, "-m", *(words or ["stitchcuda_torch.reference"])]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.folder = tempfile.TemporaryDirectory(dir=SHARED)
        self.process = subprocess.Popen(command, cwd=PYTHON_FOLDER, text=True, **pipes)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def ask(self, do, **fields):
        return self.exchange({"do": do, **fields})

    def exchange(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            answer = json.loads(line)
            if "progress" not in answer:
                return answer
        raise AssertionError("the server ended: " + self.process.stderr.read())

    def close(self, quiet=True):
        _, errors = self.process.communicate()
        self.folder.cleanup()
        # Native libraries may grumble about the machine; Python's warnings are ours to silence.
        assert self.process.returncode == 0 and not (quiet and ("Warning" in errors or "Traceback" in errors)), errors


class Case(unittest.TestCase):
    """A server for all tests of a class."""

    quiet = True

    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.path = cls.server.path

    @classmethod
    def tearDownClass(cls):
        cls.server.close(cls.quiet)

    def ask(self, do, **fields):
        answer = self.server.ask(do, **fields)
        self.assertIs(answer.get("ok"), True, answer)
        return answer

    def error(self, do, **fields):
        answer = self.server.ask(do, **fields)
        self.assertIn("error", answer)
        return answer["error"]


class ReferenceServerTest(Case):
    def load_source(self, forward="pass", **fields):
        with open(self.path("task.py"), "w") as file:
            file.write(TASK.format(forward=forward))
        return self.ask("load", task=self.path("task.py"), **fields)

    def read(self, name):
        return safetensors.read(self.path(name))

    def evaluate(self, inputs, mode, **fields):
        answer = self.ask("evaluate", inputs=self.path(inputs), mode=mode, out=self.path("result"), **fields)
        return self.read("result"), answer

    def test_load_names_state_and_inputs_as_the_exporter_does(self):
        answer = self.load_source()
        loaded = Loaded(self.path("task.py"), None, 42, "cpu", None)
        forms = [(form.dtype, form.shape, form.stride) for form in loaded.forms]
        self.assertEqual(forms, [(torch.float32, (2, 4, 9), (36, 1, 4)), (torch.float32, (3,), (1,)), (torch.int64, (3,), (1,))])
        state = loaded.state()
        self.assertIs(state["tied.weight"], state["conv.weight"])
        self.assertEqual(list(state), ["conv.weight", "conv.bias", "norm.weight", "norm.bias", "tied.weight", "tied.bias", *BUFFERS])
        self.assertEqual((answer["mode"], answer["gpu"], answer["class"]), ("train", None, "Model"))
        self.assertEqual(self.load_source(mode="eval")["mode"], "eval")
        self.ask("init_inputs", out=self.path("init"))
        self.assertEqual(read_arguments(self.path("init")), ((4, (1, 2)), {}))

    def test_evaluate_outputs_updates_and_nothing_stays(self):
        self.load_source()
        self.ask("weights", out=self.path("before"))
        self.ask("draw", seed=3, out=self.path("inputs"))
        inputs, before = self.read("inputs"), self.read("before")
        tensors, answer = self.evaluate("inputs", "float64")
        self.assertEqual(answer["device"], "cpu")
        self.assertEqual(
            set(tensors),
            {
                "output_0",
                "output_1",
                "output_2",
                "update:norm.running_mean",
                "update:norm.running_var",
                "update:norm.num_batches_tracked",
                "update:state",
                "update:input_1",
            },
        )
        self.assertTrue(torch.equal(tensors["update:input_1"], inputs["input_1"].double() * 2))
        self.assertTrue(torch.equal(tensors["output_2"], inputs["input_1"].double()))
        self.assertEqual(tensors["update:state"].tolist(), [2.0] * 4)
        self.assertEqual((tensors["output_0"].dtype, tensors["output_1"].dtype), (torch.float64, torch.int64))
        for mode in ("strict", "default", "tf32", "half"):
            again, _ = self.evaluate("inputs", mode)
            self.assertLess((again["output_0"].double() - tensors["output_0"]).abs().max().item(), 1e-4 if mode == "strict" else 0.1)
            self.assertEqual(again["update:state"].tolist(), [2.0] * 4)
        norm = ["norm.running_mean", "norm.running_var", "norm.num_batches_tracked"]
        chosen, _ = self.evaluate("inputs", "strict", updates=["conv.weight", "state", *norm])
        self.assertTrue(torch.equal(chosen["update:conv.weight"], before["conv.weight"]))
        error = self.error("evaluate", inputs=self.path("inputs"), mode="strict", out=self.path("lost"), updates=["state", *norm[1:]])
        self.assertIn("forward changes 'norm.running_mean', and the imported graph does not", error["message"])
        self.ask("weights", out=self.path("after"))
        self.assertTrue(all(torch.equal(tensor, before[name]) for name, tensor in self.read("after").items()))

    def test_calls_of_others_are_compared_with_its_own_answer(self):
        self.load_source()
        self.ask("draw", seed=3, out=self.path("inputs"))
        own, _ = self.evaluate("inputs", "default")

        def distance(first, count=3):
            with open(self.path("sample"), "wb") as file:
                file.write(first.flatten()[1::2].numpy().tobytes() + own["output_1"][:count].numpy().tobytes())
            return {"seed": 3, "mode": "default", "outputs": [["output_0", "f32", 1, 2], ["output_1", "i64", 0, 1]], "file": self.path("sample")}

        self.assertEqual(self.ask("compare_call", **distance(own["output_0"]))["distance"], 0)
        self.assertAlmostEqual(self.ask("compare_call", **distance(own["output_0"] * 1.5))["distance"], 0.5, 5)
        self.assertIn("more are needed", self.error("compare_call", **distance(own["output_0"], 2))["message"])

    def test_weights_change_and_come_back(self):
        self.load_source()
        self.ask("weights", out=self.path("task"))
        self.ask("draw", seed=3, distribution="normal", out=self.path("inputs"))
        first, _ = self.evaluate("inputs", "strict")
        self.ask("weights", variant="reparameterised", seed=9, out=self.path("other"))
        other, _ = self.evaluate("inputs", "strict")
        self.assertFalse(torch.equal(self.read("task")["conv.weight"], self.read("other")["conv.weight"]))
        self.assertTrue(torch.equal(self.read("other")["tied.weight"], self.read("other")["conv.weight"]))
        self.assertFalse(torch.equal(first["output_0"], other["output_0"]))
        self.ask("weights", variant="reparameterised", seed=9, calls=2, out=self.path("later"))
        self.assertTrue(torch.equal(self.read("later")["state"], self.read("task")["state"] + 2), "as two calls leave it")
        self.ask("weights", variant="task")
        back, _ = self.evaluate("inputs", "strict")
        self.assertTrue(torch.equal(first["output_0"], back["output_0"]))

    def test_draws(self):
        self.load_source()
        names = self.ask("distributions")["distributions"]
        self.assertGreaterEqual(len(names), 5)
        for name in names:
            self.ask("draw", distribution=name, seed=2**62, out=self.path("inputs"))
            tensors = self.read("inputs")
            self.assertEqual([list(tensor.shape) for tensor in tensors.values()], [[2, 4, 9], [3], [3]])
        self.ask("draw", distribution="low in range", seed=3, out=self.path("inputs"))
        self.assertGreaterEqual(self.read("inputs")["input_0"].min().item(), 0, "the task draws nothing below")

    def test_examples(self):
        for name in ("rnn_with_state", "lstm", "swin_v2", "dropout_mlp"):
            with self.subTest(name):
                self.ask("load", task=os.path.join(EXAMPLES, name + ".py"))
                self.ask("weights", variant="reparameterised", seed=1)
                self.ask("draw", distribution="scaled", seed=1, out=self.path("inputs"))
                exact, _ = self.evaluate("inputs", "float64")
                near, _ = self.evaluate("inputs", "default")
                self.assertTrue(all(tensor.isfinite().all() for tensor in exact.values()))
                self.assertEqual(list(exact), list(near))
                if name != "dropout_mlp":
                    error = (near["output_0"] - exact["output_0"]).norm() / exact["output_0"].norm()
                    self.assertLess(error.item(), 5e-3)

    def test_baselines_on_the_cpu(self):
        self.ask("load", task=os.path.join(EXAMPLES, "mlp.py"))
        self.assertEqual(self.error("time", kind="eager", count=3)["kind"], "request")
        self.assertEqual(self.ask("baseline", kind="eager", numerics="strict", seed=1)["relative_l2"], 0)
        times = self.ask("time", kind="eager", count=5, flush=1 << 20, seed=2)
        self.assertEqual((len(times["wall_ns"]), len(times["event_ns"])), (5, 5))
        self.assertTrue(all(0 < wall < 10**10 for wall in times["wall_ns"]))
        for kind in ("eager-graph", "compile", "compile-graph"):
            self.assertIn("GPU", self.ask("baseline", kind=kind)["unavailable"])
        self.assertIn("unavailable", self.ask("memory"))
        self.ask("load", task=os.path.join(EXAMPLES, "mlp.py"))
        self.assertEqual(self.error("time", kind="eager", count=3)["kind"], "request")

    def test_errors_leave_the_process_alive(self):
        self.assertEqual(self.error("load", task="/nowhere.py")["kind"], "file")
        self.assertEqual(self.error("draw", seed=1, out=self.path("x"))["message"], "no task is loaded")
        for forward, kind in [
            ("raise ValueError('no')", "forward"),
            ("import sys; sys.exit(3)", "forward"),
            ("torch.empty(1 << 55)", "too_large"),
            ("input()", "forward"),
        ]:
            self.load_source(forward)
            self.ask("draw", seed=1, out=self.path("inputs"))
            error = self.error("evaluate", inputs=self.path("inputs"), mode="strict", out=self.path("result"))
            self.assertEqual(error["kind"], kind, error)
            self.assertIn("in forward", error["where"])
        self.load_source()
        for fields in ({"inputs": self.path("missing")}, {"inputs": "/dev/null"}, {"out": "/nowhere/x"}):
            error = self.error("evaluate", **{"inputs": self.path("inputs"), "mode": "strict", "out": self.path("result"), **fields})
            self.assertEqual(error["kind"], "disk", error)
        self.ask("draw", seed=1, out=self.path("inputs"))
        for request, part in [
            ({"do": "sing"}, "unknown request"),
            ({"do": "draw", "seed": 1}, "'out' is missing"),
            ({"do": "draw", "seed": 1, "out": "x", "colour": 1}, "unknown field"),
            ({"do": "draw", "seed": True, "out": "x"}, "wrong type"),
            ({"do": "draw", "distribution": "odd", "seed": 1, "out": "x"}, "may be one of"),
        ]:
            self.assertIn(part, self.error(**request)["message"])
        self.load_source()

    def test_wrong_inputs(self):
        self.load_source()
        safetensors.write(self.path("inputs"), {f"input_{i}": torch.ones(2) for i in range(3)})
        error = self.error("evaluate", inputs=self.path("inputs"), mode="strict", out=self.path("result"))
        self.assertIn("f32[2], f32[2], f32[2] instead of f32[2, 4, 9], f32[3], i64[3]", error["message"])

    def test_exports_until_a_task_is_loaded(self):
        server = Server()
        try:
            os.mkdir(server.path("graph"))
            request = {"task": os.path.join(EXAMPLES, "mlp.py"), "out": server.path("graph")}
            self.assertIn("done", server.exchange(request))
            self.assertEqual(sorted(os.listdir(server.path("graph"))), ["aten.json", "weights.safetensors"])
            self.assertIn("ok", server.ask("load", task=request["task"]))
            self.assertIn("bad request", server.exchange(request)["error"]["message"])
        finally:
            server.close()

    def test_no_gpu(self):
        if not torch.cuda.is_available():
            self.assertEqual(self.error("load", task=os.path.join(EXAMPLES, "mlp.py"), device="cuda")["kind"], "device")


class RequestsTest(unittest.TestCase):
    table = Answers(lambda text: None).table

    def test_the_readme_has_all_requests_with_their_fields(self):
        rows = {}
        with open(os.path.join(FOLDER, "README.md"), encoding="utf-8") as file:
            for line in file:
                if line.startswith("| `"):
                    rows.update(dict.fromkeys(re.findall(r"`(\w+)`", line.split("|")[1]), line))
        for name, method in self.table.items():
            self.assertIn(name, rows)
            for field in requests.parameters_of(method):
                self.assertTrue(f"`{field}`" in rows[name] or "…" in rows[name], f"{field} of {name}")

    def test_fields_are_the_methods_parameters(self):
        method, fields = requests.parse('{"do": "load", "task": "a.py", "class": "Net", "mode": null}', self.table)
        self.assertEqual(method.__name__, "load")
        self.assertEqual(fields, {"task": "a.py", "class_": "Net", "seed": 42, "device": "cpu", "mode": None, "turns": None})
        for line, part in [
            ('{"do": "load"}', "'task' is missing"),
            ('{"do": "load", "task": 1}', "'task' is of the wrong type"),
            ('{"do": "load", "task": "a", "device": "tpu"}', "one of: cpu, cuda"),
            ('{"do": "load", "task": "a", "seeds": 1}', "unknown field 'seeds' of 'load'"),
            ('{"do": "unload"}', "there are: load, init_inputs"),
            ("[]", 'not a JSON object with "do"'),
        ]:
            with self.assertRaisesRegex(ValueError, re.escape(part)):
                requests.parse(line, self.table)


class FingerprintTest(unittest.TestCase):
    def test_every_bit_counts(self):
        fingerprints, flat = Fingerprints(), torch.arange(101, dtype=torch.uint8)
        first = fingerprints.of(flat)
        self.assertEqual(fingerprints.of(flat.clone()), first)
        self.assertNotEqual(Fingerprints().of(flat), first)
        for place in range(flat.numel()):
            for bit in (0, 7):
                other = flat.clone()
                other[place] ^= 1 << bit
                self.assertNotEqual(fingerprints.of(other), first, (place, bit))

    def test_pieces_may_not_change_places(self):
        with mock.patch.object(shared, "PIECE", 32):
            fingerprints, flat = Fingerprints(), torch.arange(64, dtype=torch.uint8)
            self.assertNotEqual(fingerprints.of(flat.roll(32)), fingerprints.of(flat))

    def test_nothing_has_one_too(self):
        self.assertEqual(Fingerprints().of(torch.empty(0, dtype=torch.uint8)), "0" * 16)
