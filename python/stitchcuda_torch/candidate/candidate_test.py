"""A ModelNew spoken to as the orchestrator does: a socket, a pipe and a memory file."""

import json
import math
import os
import socket
import subprocess
import sys
import tempfile
import unittest

import torch

from .. import FOLDER
from ..base import dtypes
from ..device.arena import TYPES, DeviceArena, raw

PYTHON_FOLDER = os.path.dirname(FOLDER)

GOOD = """
import torch
import torch.nn as nn

class ModelNew(nn.Module):
    def __init__(self, width, scale=1.0):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.norm = nn.BatchNorm1d(width)
        self.scale = scale

    def forward(self, x):
        {body}
        return self.norm(self.linear(x)) * self.scale
"""


class Candidate:
    """The other end: hands over descriptors 3 and 4, and the arena when it is up."""

    def __init__(self):
        ours, theirs = socket.socketpair()
        self.requests, ask_read = ours.detach(), theirs.detach()
        answers, tell_write = os.pipe()
        self.memory = os.memfd_create("arena")
        os.ftruncate(self.memory, 1 << 16)
        self.used, self.count = 0, 0
        # A shell moves the descriptors to the numbers the protocol wants.
        command = f'exec "$0" -m stitchcuda_torch.candidate 3<&{ask_read} 4>&{tell_write} 5</dev/null'
        self.process = subprocess.Popen(
            ["bash", "-c", command, sys.executable],
            cwd=PYTHON_FOLDER,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(ask_read, tell_write),
        )
        os.close(ask_read)
        os.close(tell_write)
        self.answers = os.fdopen(answers, "r")

    def ask(self, do, **fields):
        self.count += 1
        os.write(self.requests, (json.dumps({"do": do, "token": str(self.count), **fields}) + "\n").encode())
        line = self.answers.readline()
        if not line:
            raise EOFError
        answer = json.loads(line)
        assert answer.pop("token") == str(self.count)
        return answer

    def give(self, do, descriptor, **fields):
        with socket.socket(fileno=os.dup(self.requests)) as channel:
            socket.send_fds(channel, [json.dumps({"do": do, "token": "a", **fields}).encode() + b"\n"], [descriptor])
        return json.loads(self.answers.readline())

    def give_arena(self):
        return self.give("arena", self.memory)

    def put(self, tensor):
        data = tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        offset, self.used = self.used, self.used + -(-len(data) // 256) * 256
        os.ftruncate(self.memory, max(self.used, os.fstat(self.memory).st_size))
        os.pwrite(self.memory, data, offset)
        return {**kind(tensor), "offset": offset}

    def get(self, entry, offset):
        dtype, shape = TYPES[entry["dtype"]], entry["shape"]
        data = os.pread(self.memory, math.prod(shape) * dtype.itemsize, offset)
        return torch.frombuffer(bytearray(data), dtype=dtype).reshape(shape)

    def close(self):
        os.close(self.requests)
        printed, _ = self.process.communicate()
        self.answers.close()
        os.close(self.memory)
        return printed.decode()


def kind(tensor):
    return {"dtype": dtypes.name(tensor.dtype), "shape": list(tensor.shape)}


class CandidateTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.candidate = Candidate()
        cls.hello = cls.candidate.ask("hello", protocol=1, device="emulated", order="forward", address_sanitizer=False)
        cls.arena = cls.candidate.give_arena()
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        printed = cls.candidate.close()
        cls.folder.cleanup()
        assert cls.candidate.process.returncode == 0 and "Traceback" not in printed, printed

    def ok(self, do, **fields):
        answer = self.candidate.ask(do, **fields)
        self.assertIs(answer.get("ok"), True, answer)
        return answer

    def refused(self, do, **fields):
        answer = self.candidate.ask(do, **fields)
        self.assertEqual(answer.get("refused"), 1, answer)
        return answer["message"]

    def load(self, source):
        path = os.path.join(self.folder.name, "candidate_file.py")
        with open(path, "w") as file:
            file.write(source)
        return self.candidate.ask("load", program=path)

    def create(self, body="pass", **extra):
        self.assertIs(self.load(GOOD.format(body=body)).get("ok"), True)
        return self.candidate.ask("create", parameters=[], extra={"arguments": [4], "keywords": {"scale": 2.0}, **extra})

    def place(self, *tensors, **fields):
        return self.ok("place", inputs=[self.candidate.put(tensor) for tensor in tensors], **fields)["set"]

    def fetch(self, output, entry):
        size = math.prod(entry["shape"]) * TYPES[entry["dtype"]].itemsize
        offset = self.candidate.put(torch.zeros(size, dtype=torch.uint8))["offset"]
        self.ok("fetch_outputs", pieces=[{"output": output, "ranges": [[0, size // 2], [size // 2, size]], "offset": offset}])
        return self.candidate.get(entry, offset)

    def test_hello(self):
        self.assertEqual(self.hello, {"ok": True, "protocol": 1, "device": "CPU"})
        self.assertIn("no answer to 'sing'", self.refused("sing"))

    def test_is_called_as_the_task_calls_its_model(self):
        """By name and position, with the task's constants; results in a structure are taken flat."""
        source = (
            GOOD.format(body="pass")
            .replace("def forward(self, x):", "def forward(self, big, small=None, scale=1.0):")
            .replace("return self.norm(self.linear(x)) * self.scale", "return {'a': (big['of'][0] - small) * scale, 'b': [small, None]}")
        )
        self.assertIs(self.load(source).get("ok"), True)
        call = {
            "positional": [],
            "keyword": [["small", {"input": 0}], ["big", {"dict": [["of", {"list": [{"input": 1}]}]]}], ["scale", {"constant": 3.0}]],
            "outputs": {"output": 0},
        }
        self.ok("create", parameters=[], extra={"arguments": [4], "keywords": {}, "call": call})
        small, big = torch.rand(4), torch.rand(4)
        number = self.place(small, big)
        self.ok("call", set=number, outputs=[kind(small), kind(small)])
        self.assertTrue(torch.equal(self.fetch(0, kind(small)), (big - small) * 3))
        self.assertTrue(torch.equal(self.fetch(1, kind(small)), small))
        self.load(GOOD.format(body="return x * factor if flag else x").replace("self, x)", "self, factor, x, flag)"))
        call = {"positional": [{"constant": 3.0}, {"input": 0}, {"constant": True}], "keyword": [], "outputs": {"output": 0}}
        self.ok("create", parameters=[], extra={"arguments": [4], "call": call})
        self.ok("call", set=self.place(small), outputs=[kind(small)])
        self.assertTrue(torch.equal(self.fetch(0, kind(small)), small * 3))

    def test_an_earlier_result_is_told_from_a_new_one(self):
        text = """
import torch
kept = []
class ModelNew(torch.nn.Module):
    def forward(self, x):
        if not kept:
            kept.append(x + 1)
        %s
        return kept[0]
"""
        for update, expected in (("pass", True), ("kept[0].copy_(x + 1)", False)):
            self.load(text % update)
            self.ok("create", parameters=[], extra={"arguments": [], "keywords": {}})
            x = torch.rand(8)
            number = self.place(x)
            self.assertFalse(self.ok("call", set=number, outputs=[kind(x)])["earlier_result"])
            self.assertEqual(self.ok("call", set=number, outputs=[kind(x)])["earlier_result"], expected, update)

    def test_weights_states_updates_and_results(self):
        torch.manual_seed(5)
        linear, norm, x = torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.rand(6, 4)
        answer = self.load(GOOD.format(body="pass"))
        self.assertEqual((answer["manifest"], answer["has_regions"], answer["trust"]), ("", False, "python"))
        weights = {"linear.weight": linear.weight.detach(), "linear.bias": linear.bias.detach()}
        answer = self.ok(
            "create",
            parameters=[self.candidate.put(tensor) for tensor in weights.values()],
            extra={
                "arguments": [4],
                "keywords": {"scale": 2.0},
                "parameters": list(weights),
                "seed": 1,
                "states": ["norm.running_mean"],
                "updates": ["norm.running_mean"],
            },
        )
        self.assertEqual(answer["weights"], "loaded")
        mean = torch.full((4,), 10.0)
        number = self.place(x, mean)
        types = [kind(x), kind(mean)]
        expected = norm(linear(x)).detach() * 2
        for timed in (False, True, True):
            answer = self.ok("call", set=number, outputs=types, region=-1, poison=3, states=[], timed=timed, flush=1 << 20, misalign=0)
            self.assertTrue(torch.allclose(self.fetch(0, types[0]), expected, atol=1e-6))
            self.assertTrue(torch.allclose(self.fetch(1, types[1]), 9 + 0.1 * linear(x).mean(0).detach(), atol=1e-6))
            self.assertEqual((answer["damage"], answer["wall_ns"] > 0), ("", timed))
            self.assertEqual(answer["threads_before"] > 0, answer["threads_after"] > 0)
        self.check_series([x, mean], types, linear)
        self.ok("drop", set=number)
        self.assertIn("no set", self.refused("call", set=number, outputs=types))
        self.ok("destroy")

    def check_series(self, inputs, types, linear):
        """Three calls on contents of their own; the mean, a state, stays."""
        x, mean = inputs
        many = torch.stack([x, x * 2, x + 1])
        first, out = self.candidate.put(many), self.candidate.put(torch.zeros(3, 256, dtype=torch.uint8))
        slots = {
            "inputs_at": first["offset"],
            "inputs_step": x.numel() * 4,
            "inputs": [0, -1],
            "outputs_at": out["offset"],
            "outputs_step": 256,
            "outputs": [0, 128],
            "where": "host",
        }
        self.ok("prepare_series", sets=2, inputs=[{**kind(x), "offset": -1}, self.candidate.put(mean)], outputs=types)
        fillings = ["nan", "finite", "old result"]
        for timed in (False, True):
            answer = self.ok("series", count=3, run=True, timed=timed, flush=0, poison=1, fillings=fillings, slots=slots)
            self.assertEqual(len(answer["wall_ns"]), 3 * timed)
            for i, one in enumerate(many):
                expected = torch.nn.BatchNorm1d(4)(linear(one)).detach() * 2
                self.assertTrue(torch.allclose(self.candidate.get(types[0], out["offset"] + 256 * i), expected, atol=1e-5), (timed, i))

    def test_memory_that_another_process_made(self):
        self.load(GOOD.format(body="pass").replace("self.norm(self.linear(x))", "x"))
        self.ok("create", parameters=[], extra={"arguments": [4], "keywords": {"scale": 2.0}, "seed": 1})
        slots = {"inputs_at": 0, "inputs_step": 256, "inputs": [0], "outputs_at": 1024, "outputs_step": 256, "outputs": [0], "where": "device"}
        x = torch.rand(3, 4)
        self.ok("prepare_series", sets=2, inputs=[{**kind(x), "offset": -1}], outputs=[kind(x)])
        self.assertIn("is shared", self.refused("series", count=3, run=True, timed=False, slots=slots))
        self.assertIn("no descriptor", self.refused("share", bytes=4096))
        made = DeviceArena(4096, torch.device("cpu"))
        self.assertEqual(self.candidate.give("share", made.memory.descriptor, bytes=4096)["ok"], True)
        for i in range(3):
            made.span(256 * i, 48).copy_(raw(x + i))
        for run in (False, True):
            self.ok("series", count=3, run=run, timed=False, slots=slots)
        for i in range(3):
            self.assertTrue(torch.equal(made.span(1024 + 256 * i, 48).view(torch.float32).view(3, 4), (x + i) * 2))
        number = self.ok("place", inputs=[{**kind(x), "offset": 256, "where": "device"}])["set"]
        self.ok("call", set=number, outputs=[kind(x)])
        self.ok("fetch_outputs", pieces=[{"output": 0, "ranges": [[0, 48]], "offset": 2048, "where": "device"}])
        self.ok("fetch_input", set=number, input=0, offset=2304, where="device")
        self.assertTrue(torch.equal(made.span(2048, 48).view(torch.float32), ((x + 1) * 2).view(-1)))
        self.assertTrue(torch.equal(made.span(2304, 48).view(torch.float32), (x + 1).view(-1)))
        self.ok("unshare")
        made.close()

    def test_seed_rule_and_init_file(self):
        path = os.path.join(self.folder.name, "init")
        torch.save({"positional": [4], "keyword": {"scale": 2.0}}, path)
        self.load(GOOD.format(body="pass"))
        self.assertEqual(self.ok("create", parameters=[], extra={"init": path, "seed": 42})["weights"], "seed")
        x = torch.rand(6, 4)
        self.ok("call", set=self.place(x), outputs=[kind(x)])
        torch.manual_seed(42)
        linear = torch.nn.Linear(4, 4)
        expected = torch.nn.BatchNorm1d(4)(linear(x)).detach() * 2
        self.assertTrue(torch.allclose(self.fetch(0, kind(x)), expected, atol=1e-6))

    def test_weights_that_do_not_fit(self):
        wrong = torch.ones(5)
        for name in ("linear.bias", "conv.bias"):
            self.assertIn(name, self.refused_create(name, wrong))
        self.load(GOOD.format(body="pass"))
        for names, weights in [(["linear.bias"], "loaded"), (["conv.bias"], "seed")]:
            answer = self.ok("create", parameters=[self.candidate.put(torch.arange(4.0))], extra={"arguments": [4], "state": names})
            self.assertEqual(answer["weights"], weights)

    def test_a_model_without_tensors_has_any_weights(self):
        for attribute, weights in [
            ("3", "loaded"),
            ("torch.ones(2)", "loaded"),
            ("torch.ones(5)", "seed"),
            ("[torch.ones(5)]", "seed"),
            ("object()", "seed"),
        ]:
            self.load(
                "import torch\n\nclass ModelNew(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                f"        self.kept = {attribute}\n        self.inner = torch.nn.ReLU()\n\n    def forward(self, x):\n        return x\n"
            )
            answer = self.ok("create", parameters=[self.candidate.put(torch.ones(4))], extra={"arguments": [], "state": ["norm.weight"]})
            self.assertEqual(answer["weights"], weights, attribute)

    def made_of_given(self, body):
        """What y = forward(ones) is with linear.bias = 3 given."""
        self.load(
            "import torch\n\nclass ModelNew(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            + "".join(f"        {line}\n" for line in body)
            + "\n    def forward(self, x):\n        return self.out(x)\n"
        )
        answer = self.ok("create", parameters=[self.candidate.put(torch.full((4,), 3.0))], extra={"arguments": [], "state": ["linear.bias"]})
        self.assertEqual(answer["weights"], "loaded")
        x = torch.ones(6, 4)
        self.ok("call", set=self.place(x), outputs=[kind(x)])
        return self.fetch(0, kind(x))

    def test_what_the_constructor_makes_of_given_weights_stays(self):
        linear = "self.linear = torch.nn.Linear(4, 4)"
        folded = self.made_of_given([linear, "self.linear.bias.data.mul_(2)", "self.out = lambda x: x * self.linear.bias"])
        self.assertTrue((folded == 6).all())
        gone = self.made_of_given([linear, "kept = self.linear.bias.detach() * 2", "del self.linear", "self.out = lambda x: x * kept"])
        self.assertTrue((gone == 6).all())
        drawn = self.made_of_given([linear, "self.linear.bias.data.fill_(7)", "self.out = lambda x: x * self.linear.bias"])
        self.assertTrue((drawn == 3).all(), "what it drew for itself is replaced")

    def test_lazy_layers(self):
        self.load(GOOD.format(body="pass").replace("nn.Linear(width, width)", "nn.LazyLinear(width)"))
        answer = self.ok("create", parameters=[self.candidate.put(torch.ones(4))], extra={"arguments": [4], "state": ["linear.bias"]})
        self.assertEqual(answer["weights"], "seed")

    def test_a_seed_among_the_inputs(self):
        x = torch.rand(6, 4)
        self.create("return torch.rand(6, 4)", seeded=True)
        self.ok("call", set=self.place(x, torch.tensor(77)), outputs=[kind(x)])
        torch.manual_seed(77)
        self.assertTrue(torch.equal(self.fetch(0, kind(x)), torch.rand(6, 4)))

    def refused_create(self, name, tensor):
        self.load(GOOD.format(body="pass"))
        return self.refused("create", parameters=[self.candidate.put(tensor)], extra={"arguments": [4], "parameters": [name]})

    def test_inputs_are_the_sets_own(self):
        x = torch.rand(6, 4)
        self.create("x.data = x.data.clone(); x.resize_(6, 4)")
        number = self.place(x)
        self.ok("call", set=number, outputs=[kind(x)])
        self.create("x.zero_()")
        self.ok("call", set=number, outputs=[kind(x)])
        offset = self.candidate.put(x)["offset"]
        self.ok("fetch_input", set=number, input=0, offset=offset)
        self.assertEqual(self.candidate.get(kind(x), offset).abs().max().item(), 0)

    def test_results_that_are_none(self):
        x = torch.rand(6, 4)
        for body, part in [
            ("return x.half()", "output 0 is f16[6, 4] on cpu; f32[6, 4] on cpu is expected"),
            ("return x[:5]", "f32[5, 4]"),
            ("return x, x", "2 tensors came back; 1 are expected"),
            ("return 3", "of type int"),
            ("return None", "0 tensors"),
            ("return nn.Parameter(x)", "Parameter, not a plain tensor"),
            ("return x.to_sparse()", "not a plain tensor"),
            ("return type('T', (torch.Tensor,), {})(x)", "of type T"),
            ("raise ValueError('no')", "candidate_file.py:13, in forward: raise ValueError('no'): forward failed: ValueError: no"),
            ("import sys; sys.exit(0)", "SystemExit"),
            ("return x / (1 // 0)", "ZeroDivisionError"),
        ]:
            with self.subTest(body):
                self.create(body)
                self.assertIn(part, self.refused("call", set=self.place(x), outputs=[kind(x)]))

    def test_old_results_are_gone(self):
        x = torch.rand(1000, 100)
        self.create("""self.calls = getattr(self, "calls", 0) + 1
        if self.calls == 1:
            self.kept = x * 2
            return self.kept
        return self.kept if self.calls == 2 else torch.empty_like(x)""")
        number = self.place(x)
        seen = []
        for _ in range(3):
            self.ok("call", set=number, outputs=[kind(x)])
            seen.append(self.fetch(0, kind(x)))
        self.assertTrue(torch.equal(seen[0], x * 2))
        self.assertTrue(bool(seen[1].isnan().all()))
        self.assertFalse(torch.equal(seen[2], x * 2))

    def test_patched_clocks_change_nothing(self):
        x = torch.rand(6, 4)
        self.create("""import time
        end = time.process_time() + 0.02
        while time.process_time() < end: pass
        time.process_time_ns = time.perf_counter_ns = lambda: 7""")
        for _ in range(2):
            answer = self.ok("call", set=self.place(x), outputs=[kind(x)], timed=True)
            self.assertGreater(answer["wall_ns"], 15e6)

    def test_threads_and_wrong_calls(self):
        x = torch.rand(6, 4)
        self.create("import threading, time; threading.Thread(target=time.sleep, args=(0.2,)).start()")
        answer = self.ok("call", set=self.place(x), outputs=[kind(x)])
        self.assertGreater(answer["threads_after"], answer["threads_before"])
        answer = self.ok("call_with", inputs=[], outputs=[kind(x)])
        self.assertEqual((answer["status"], "TypeError" in answer["message"]), (1, True))
        self.assertEqual(self.candidate.ask("profile", set=0, outputs=[])["refused"], 4)

    def test_files_that_are_no_candidate(self):
        for source, part in [
            ("x = 1", "no class ModelNew"),
            ("def f(:", "SyntaxError"),
            ("import sys; sys.exit(1)", "SystemExit"),
            ("ModelNew = 3", "no class ModelNew"),
            ("class Model: pass\ndef get_inputs(): return []", "this is a task, with Model and get_inputs"),
        ]:
            self.assertIn(part, self.load(source)["message"])
        self.assertIn("ModelNew(...) failed", self.create(arguments=["wide"])["message"])


class EndTest(unittest.TestCase):
    def test_exit_and_gpu(self):
        candidate = Candidate()
        if not torch.cuda.is_available():
            self.assertIn("no GPU", candidate.ask("hello", protocol=1, device="cuda")["message"])
        candidate.ask("hello", protocol=1, device="emulated")
        self.assertIn("no descriptor", candidate.ask("arena")["message"])
        self.assertEqual(candidate.give_arena(), {"token": "a", "ok": True})
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write("import os; print('bye', flush=True); os._exit(7)")
            file.flush()
            with self.assertRaises(EOFError):
                candidate.ask("load", program=file.name)
        self.assertIn("bye", candidate.close())
        self.assertEqual(candidate.process.returncode, 7)
