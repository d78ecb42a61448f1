"""One program for ranges of sizes, called as users call it: on the emulated GPU."""

import concurrent.futures
import copy
import ctypes
import os
import resource
import tempfile
import time
import unittest
import warnings

import torch
from torch import nn

import stitchcuda

from . import tool

SHAPES = {"x": {0: ("batch", 1, 50), 1: ("length", 1, 40)}, "mask": {0: ("batch", 1, 50), 1: ("length", 1, 40)}}


class Pooled(nn.Module):
    """The mean of the rows that a mask has."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 4)

    def forward(self, x, mask):
        return (self.linear(x) * mask.unsqueeze(-1)).sum(1) / (mask.sum(1, keepdim=True) + 1)


def call(batch, length):
    return torch.randn(batch, length, 8), torch.rand(batch, length).round()


class Tensor(ctypes.Structure):
    """StitchTensor of stitch/program.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("shape", ctypes.c_int64 * 8),
        ("strides", ctypes.c_int64 * 8),
    )

    @staticmethod
    def of(tensor):
        return Tensor(tensor.data_ptr(), 1, tensor.dim(), (ctypes.c_int64 * 8)(*tensor.shape), (ctypes.c_int64 * 8)(*tensor.stride()))


class SizesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            tool.binary()
        except stitchcuda.StitchError as error:
            raise unittest.SkipTest(str(error)) from error
        if torch.cuda.is_available():
            raise unittest.SkipTest("this machine has a GPU; the test is of the emulated one")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        before = os.environ.get("XDG_CACHE_HOME")
        os.environ["XDG_CACHE_HOME"] = folder.name
        cls.addClassCleanup(lambda: os.environ.update(XDG_CACHE_HOME=before) if before else os.environ.pop("XDG_CACHE_HOME"))
        torch.manual_seed(0)
        cls.fast = stitchcuda.optimize(
            Pooled().eval(), call(6, 9), dynamic_shapes=SHAPES, quick=True, budget=1, progress=False, options=["--store", "none"]
        )

    def setUp(self):
        self.model = self.fast.original
        self.fast._said.clear()

    def assert_right(self, batch, length, fast=None):
        x, mask = call(batch, length)
        self.assertTrue(torch.allclose((fast or self.fast)(x, mask), self.model(x, mask), rtol=1e-4, atol=1e-5), (batch, length))

    def test_every_size_of_the_ranges_by_the_program(self):
        self.assertTrue(any("right at other sizes" in note for note in self.fast.verdict.notes), self.fast.verdict.notes)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # PyTorch would be warned of
            for batch, length in [(1, 1), (1, 40), (50, 1), (50, 40), (7, 13), (6, 9)]:
                self.assert_right(batch, length)

    def test_sizes_outside_run_in_pytorch_or_raise(self):
        with self.assertWarnsRegex(UserWarning, "runs in PyTorch: length is 41, and the program was made for 1 to 40") as warned:
            self.assert_right(3, 41)
            self.assert_right(51, 3)
        self.assertEqual(len(warned.warnings), 1, "said once")
        self.assertEqual(self.fast(torch.randn(0, 5, 8), torch.rand(0, 5)).shape, (0, 4), "no rows")
        self.fast.choices["other_shapes"] = "error"
        self.addCleanup(self.fast.choices.update, other_shapes="pytorch")
        for batch, length, said in [(3, 41, "length is 41"), (0, 5, "batch is 0")]:
            with self.assertRaisesRegex(stitchcuda.StitchError, said):
                self.fast(*call(batch, length))

    def test_inputs_that_disagree(self):
        x, mask = torch.randn(3, 5, 8), torch.ones(1, 5)
        with self.assertWarnsRegex(UserWarning, r"'mask' is .*1, 5.*, and the program was made for .*3, 5"):
            self.assertTrue(torch.equal(self.fast(x, mask), self.model(x, mask)), "PyTorch repeats it")
        with self.assertRaises(RuntimeError):
            self.fast(x, torch.ones(2, 5))

    def test_the_c_abi_returns_an_error(self):
        library = ctypes.CDLL(self.fast.folder.library(torch.device("cpu")))
        library.stitch_last_error.restype = ctypes.c_char_p
        library.stitch_create.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
        library.stitch_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
        library.stitch_destroy.argtypes = [ctypes.c_void_p]
        weights = [self.model.state_dict()[each["data"]].contiguous() for each in self.fast.folder.manifest["parameters"]]
        program, parameters = ctypes.c_void_p(), (Tensor * len(weights))(*map(Tensor.of, weights))
        self.assertEqual(library.stitch_create(parameters, len(weights), 0, ctypes.byref(program)), 0, library.stitch_last_error())

        def run(x, mask, rows):
            out = torch.full((rows, 4), 7.0)
            inputs, outputs = (Tensor * 2)(Tensor.of(x), Tensor.of(mask)), (Tensor * 1)(Tensor.of(out))
            return library.stitch_run(program, inputs, 2, outputs, 1, None), out

        x, mask = call(5, 6)
        status, out = run(x, mask, 5)
        self.assertEqual(status, 0, library.stitch_last_error())
        self.assertTrue(torch.allclose(out, self.model(x, mask), rtol=1e-4, atol=1e-5))
        for (x, mask), rows, said in [
            (call(5, 41), 5, b"size length: 41 is outside of 1 to 40"),
            (call(51, 4), 51, b"size batch: 51 is outside of 1 to 50"),
            (call(0, 4), 0, b"size batch: 0 is outside of 1 to 50"),
            ((call(5, 6)[0], call(4, 6)[1]), 5, b"mask"),
            (call(5, 6), 4, b"output"),
        ]:
            status, out = run(x, mask, rows)
            self.assertEqual(status, 1, said)
            self.assertIn(said, library.stitch_last_error())
            self.assertTrue(bool((out == 7).all()), "nothing was run")
        library.stitch_destroy(program)

    def test_a_thousand_sizes(self):
        sizes = [(batch, length) for batch in range(1, 41) for length in range(1, 26)]
        calls = {each: call(*each) for each in sizes}
        seconds, memory = [], []
        for part in range(5):
            began = time.process_time()
            for each in sizes[200 * part : 200 * part + 200]:
                self.fast(*calls[each])
            seconds.append(time.process_time() - began)
            memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        # Calls grow with their sizes, five times as much work in the last part as in the first.
        self.assertLess(seconds[4], 12 * max(seconds[0], 0.05), seconds)
        self.assertLess(memory[4] - memory[1], 64 << 10, memory)
        self.assertLessEqual(len(self.fast._ready), 64)
        self.assert_right(1, 1)  # forgotten long ago

    def test_threads_with_other_sizes_and_other_weights_meanwhile(self):
        model = copy.deepcopy(self.model)
        fast = copy.deepcopy(self.fast)
        fast.load_state_dict(model.state_dict())
        calls = [call(batch, length) for batch, length in [(3, 7), (17, 2), (1, 40), (9, 9)]]
        other = {name: torch.randn_like(tensor) for name, tensor in model.state_dict().items()}
        with torch.no_grad():
            before = [model(*each) for each in calls]
        model.load_state_dict(other)
        with torch.no_grad():
            after = [model(*each) for each in calls]

        def run(i):
            results = [fast(*calls[i]) for _ in range(30)]
            return all(min((result - at[i]).abs().max() for at in (before, after)) < 1e-4 for result in results)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            running = [pool.submit(run, i) for i in range(4)]
            fast.load_state_dict(fast.state_dict())  # the same, written again
            self.assertTrue(all(each.result() for each in running))
            fast.load_state_dict(other)
            running = [pool.submit(run, i) for i in range(4)]
            self.assertTrue(all(each.result() for each in running))
        for each, right in zip(calls, after):
            self.assertTrue(torch.allclose(fast(*each), right, rtol=1e-4, atol=1e-5))


if __name__ == "__main__":
    unittest.main()
