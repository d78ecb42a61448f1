import json
import os
import struct
import tempfile
import unittest

import torch

from . import dtypes, safetensors
from .errors import TaskError


class SafetensorsTest(unittest.TestCase):
    def test_round_trip_of_every_dtype_layout_and_size(self):
        tensors = {name: torch.arange(12).reshape(3, 4).to(dtype) for dtype, name in dtypes.NAMES.items()}
        tensors["transposed"] = torch.rand(3, 5).T
        tensors["scalar"], tensors["empty"] = torch.tensor(2.5), torch.empty(0, 3)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.safetensors")
            for write in (safetensors.write, safetensors.write_mapped):
                write(path, tensors)
                back = safetensors.read(path)
                self.assertEqual(list(back), list(tensors))
                for name, tensor in tensors.items():
                    self.assertEqual(back[name].dtype, tensor.dtype)
                    self.assertTrue(torch.equal(back[name], tensor), name)
            safetensors.write_mapped(path, {"a": torch.ones(3)})
            self.assertTrue(torch.equal(back["transposed"], tensors["transposed"]))
            self.assertEqual(os.listdir(folder), ["x.safetensors"])

    def test_header_ends_on_eight_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.safetensors")
            safetensors.write(path, {"a": torch.ones(3)})
            with open(path, "rb") as file:
                data = file.read()
        length = struct.unpack("<Q", data[:8])[0]
        self.assertEqual((8 + length) % 8, 0)
        self.assertEqual(json.loads(data[8 : 8 + length]), {"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}})
        self.assertEqual(len(data), 8 + length + 12)

    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_full_disk(self):
        with self.assertRaises(TaskError) as caught:
            safetensors.write("/dev/full", {"a": torch.ones(3)})
        self.assertEqual(caught.exception.kind, "disk")

    def test_what_is_no_such_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x")
            header = json.dumps({"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}}).encode()
            for data in (b"", b"short", struct.pack("<Q", 1 << 40), struct.pack("<Q", 2) + b"[]", struct.pack("<Q", len(header)) + header + b"few"):
                with open(path, "wb") as file:
                    file.write(data)
                with self.assertRaises(TaskError) as caught:
                    safetensors.read(path)
                self.assertEqual(caught.exception.kind, "disk")

    def test_other_dtypes_are_refused(self):
        with self.assertRaises(TaskError):
            safetensors.write("/dev/null", {"a": torch.ones(1, dtype=torch.complex64)})
