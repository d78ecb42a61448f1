"""A ModelNew on a GPU: times, stale memory, a lost device."""

import math
import os
import tempfile
import unittest

import torch

from .candidate_test import GOOD, Candidate, kind


def setUpModule():
    if not torch.cuda.is_available():
        raise unittest.SkipTest("needs a GPU")


class CandidateGpuTest(unittest.TestCase):
    def setUp(self):
        self.candidate = Candidate()
        self.assertIn("NVIDIA", self.ok("hello", protocol=1, device="cuda")["device"])
        self.candidate.give_arena()
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.candidate.close()
        self.folder.cleanup()

    def ok(self, do, **fields):
        answer = self.candidate.ask(do, **fields)
        self.assertIs(answer.get("ok"), True, answer)
        return answer

    def create(self, body, width):
        path = os.path.join(self.folder.name, "candidate_file.py")
        with open(path, "w") as file:
            file.write(GOOD.format(body=body))
        self.ok("load", program=path)
        self.ok("create", parameters=[], extra={"arguments": [width]})

    def fetch(self, tensor):
        size = math.prod(tensor.shape) * tensor.element_size()
        offset = self.candidate.put(torch.zeros(size, dtype=torch.uint8))["offset"]
        self.ok("fetch_outputs", pieces=[{"output": 0, "ranges": [[0, size]], "offset": offset}])
        return self.candidate.get(kind(tensor), offset)

    def test_results_times_and_profile(self):
        x = torch.rand(512, 256)
        self.create("pass", 256)
        number = self.ok("place", inputs=[self.candidate.put(x)])["set"]
        torch.manual_seed(42)
        expected = torch.nn.BatchNorm1d(256)(torch.nn.Linear(256, 256)(x)).detach()
        for _ in range(5):
            answer = self.ok("call", set=number, outputs=[kind(x)], timed=True, flush=256 << 20)
            self.assertTrue(torch.allclose(self.fetch(x), expected, atol=1e-4))
            self.assertTrue(0 < answer["event_ns"] <= answer["wall_ns"] * 1.05)
        print("call:", answer)
        activities = self.ok("profile", set=number, outputs=[kind(x)])["activities"]
        self.assertTrue(any(entry["block"] != [0, 0, 0] for entry in activities), activities)

    def test_stale_memory(self):
        """Right once, then whatever torch.empty() finds; large and small, kept and freed."""
        for shape in ((4, 4), (64, 64), (2048, 1024)):
            x = torch.rand(shape)
            self.create('self.calls = getattr(self, "calls", 0) + 1\n        if self.calls == 1: return x * 2\n        return torch.empty_like(x)', 4)
            number = self.ok("place", inputs=[self.candidate.put(x)])["set"]
            for call in range(4):
                self.ok("call", set=number, outputs=[kind(x)])
                self.assertEqual(torch.equal(self.fetch(x), x * 2), call == 0)

    def test_lost_device(self):
        x = torch.rand(8, 4)
        self.create("return torch.gather(x, 0, torch.full((8, 4), 10**9, device=x.device))", 4)
        number = self.ok("place", inputs=[self.candidate.put(x)])["set"]
        self.assertIn("fault", self.candidate.ask("call", set=number, outputs=[kind(x)]))

    def test_side_stream_is_waited_for(self):
        x = torch.rand(4096, 4096)
        self.create("s = torch.cuda.Stream()\n        with torch.cuda.stream(s):\n            for _ in range(20): y = x @ x\n        return y", 4)
        number = self.ok("place", inputs=[self.candidate.put(x)])["set"]
        for _ in range(2):
            answer = self.ok("call", set=number, outputs=[kind(x)], timed=True)
        print("side stream: wall", answer["wall_ns"], "events", answer["event_ns"])
        self.assertGreater(answer["wall_ns"], 20 * 2e6)  # 137 GFLOP a product, at 67 TFLOP/s at most
