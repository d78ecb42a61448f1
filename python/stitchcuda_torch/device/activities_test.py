import subprocess
import sys
import unittest

from . import activities

TRACE = {
    "traceEvents": [
        {"ph": "M", "name": "process_name"},
        {"cat": "cpu_op", "name": "aten::relu", "ts": 1, "dur": 3},
        {
            "cat": "kernel",
            "name": "void relu<float>(float*)",
            "ts": 110.5,
            "dur": 2.25,
            "args": {"stream": 7, "grid": [8, 1, 1], "block": [256, 1, 1], "registers per thread": 24, "shared memory": 128, "correlation": 9},
        },
        {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 100, "dur": 4.5, "tid": 77, "args": {"correlation": 9}},
        {"cat": "cuda_runtime", "name": "cudaGraphLaunch", "ts": 120, "dur": 6, "tid": "77"},
        {
            "cat": "gpu_memcpy",
            "name": "Memcpy DtoH (Device -> Pageable)",
            "ts": 130,
            "dur": 1,
            "args": {"stream": "7", "bytes": 4096, "graph node id": 3},
        },
    ]
}


class Activities(unittest.TestCase):
    def test_of_the_device(self):
        found = activities.read(TRACE)
        self.assertEqual([one["kind"] for one in found], ["kernel", "copy"])
        self.assertEqual(
            found[0],
            {
                "name": "void relu<float>(float*)",
                "kind": "kernel",
                "start_ns": 0,
                "end_ns": 2250,
                "stream": 7,
                "grid": [8, 1, 1],
                "block": [256, 1, 1],
                "registers": 24,
                "shared_bytes": 128,
                "bytes": 0,
                "in_graph": False,
                "correlation": 9,
            },
        )
        self.assertEqual((found[1]["bytes"], found[1]["in_graph"], found[1]["grid"]), (4096, True, [0, 0, 0]))

    def test_with_the_host(self):
        found = activities.read(TRACE, host_calls=True)
        self.assertEqual([one["kind"] for one in found], ["host call", "kernel", "graph launch", "copy"])
        self.assertEqual((found[0]["start_ns"], found[0]["end_ns"], found[0]["stream"]), (0, 4500, 77))

    def test_of_nothing(self):
        self.assertEqual(activities.read({"traceEvents": []}), [])

    def test_recording_imports_no_compiler(self):
        program = """
import json, os, sys, tempfile, torch
from stitchcuda_torch.device import activities
with activities.profiler("cpu") as profile:
    torch.zeros(3).relu()
path = os.path.join(tempfile.mkdtemp(), "trace.json")
profile.export_chrome_trace(path)
names = [event.get("name") for event in json.load(open(path))["traceEvents"]]
assert "aten::relu" in names, names
assert "torch._inductor.config" not in sys.modules and "sympy" not in sys.modules
"""
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
