"""The layouts that cuda.h has, and a failing driver's words."""

import ctypes
import fcntl
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

from ..base.errors import TaskError
from . import activities, arena
from .gpu_lock import SECONDS_AT_A_TIME, GpuLock

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


class DriverTest(unittest.TestCase):
    def test_layouts(self):
        self.assertEqual(ctypes.sizeof(arena.Location), 8)
        self.assertEqual(ctypes.sizeof(arena.Access), 12)
        self.assertEqual(arena.Access.flags.offset, 8)
        properties = arena.Properties
        self.assertEqual(ctypes.sizeof(properties), 32)
        self.assertEqual([getattr(properties, name).offset for name, _ in properties._fields_], [0, 4, 8, 16, 24, 25, 26, 28])

    def test_errors(self):
        for code, kind in ((2, "memory"), (801, "device")):
            with mock.patch.object(arena.ctypes, "CDLL") as library, self.assertRaises(TaskError) as caught:
                library.return_value.cuMemCreate.return_value = code
                arena.call("cuMemCreate")
            self.assertEqual(caught.exception.kind, kind)


class TurnsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def is_free(self, name):
        with open(os.path.join(self.folder.name, name), "w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                return False

    def test_keeps_whoever_wants_to_be_alone_out(self):
        with GpuLock(self.folder.name).shared():
            self.assertFalse(self.is_free("gpu.lock"))
            self.assertTrue(self.is_free("gpu.door"))
        self.assertTrue(self.is_free("gpu.lock"))

    def test_is_beside_others(self):
        with GpuLock(self.folder.name).shared(), GpuLock(self.folder.name).shared():
            self.assertFalse(self.is_free("gpu.lock"))

    def test_has_one_turn_at_a_time(self):
        lock = GpuLock(self.folder.name)
        with lock.shared():
            with lock.shared():
                pass
            self.assertFalse(self.is_free("gpu.lock"))
        self.assertTrue(self.is_free("gpu.lock"))

    def test_lets_others_go_first_in_a_pause(self):
        lock, alone = GpuLock(self.folder.name), GpuLock(self.folder.name)
        with lock.shared():
            entered = threading.Event()

            def be_alone():
                door = alone.locked("gpu.door", fcntl.LOCK_EX)
                waiting.set()
                held = alone.locked("gpu.lock", fcntl.LOCK_EX)
                entered.set()
                os.close(held)
                os.close(door)

            waiting = threading.Event()
            thread = threading.Thread(target=be_alone)
            thread.start()
            waiting.wait()
            lock.make_way()
            self.assertFalse(entered.is_set(), "a turn that has just begun goes on")
            lock.entered -= SECONDS_AT_A_TIME
            lock.make_way()
            self.assertTrue(entered.is_set())
            thread.join()
            self.assertFalse(self.is_free("gpu.lock"))
        self.assertTrue(self.is_free("gpu.lock"))

    def test_goes_on_where_nobody_waits(self):
        lock = GpuLock(self.folder.name)
        with lock.shared():
            lock.entered -= SECONDS_AT_A_TIME
            held = lock.held
            lock.make_way()
            self.assertEqual(lock.held, held)
            self.assertTrue(self.is_free("gpu.door"))

    def test_without_a_folder_there_is_nothing_to_wait_for(self):
        lock = GpuLock()
        with lock.shared():
            lock.make_way()
        self.assertEqual(lock.waited, 0)
