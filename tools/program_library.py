"""A program's library called by ctypes, without the module that users get: for tools that time programs by themselves."""

import ctypes
import json
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))

from stitchcuda.binding import DTYPES, Ranges, strides_of

CODES = {dtype: code for code, dtype in enumerate(DTYPES.values())}  # of StitchDtype


class StitchTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("shape", ctypes.c_int64 * 8),
        ("strides", ctypes.c_int64 * 8),
    ]


def described(tensors):
    """StitchTensor[], and how many there are."""
    out = (StitchTensor * max(1, len(tensors)))()
    for to, tensor in zip(out, tensors):
        to.data, to.dtype, to.rank = tensor.data_ptr(), CODES[tensor.dtype], tensor.dim()
        to.shape[: to.rank], to.strides[: to.rank] = tensor.shape, tensor.stride()
    return out, len(tensors)


class Program:
    def __init__(self, library):
        self.library, self.handle = ctypes.CDLL(str(library)), ctypes.c_void_p()
        self.library.stitch_manifest.restype = self.library.stitch_last_error.restype = ctypes.c_char_p
        self.manifest = json.loads(self.library.stitch_manifest())
        self.ranges = Ranges(self.manifest)

    def entries(self, part, sizes=None):
        """Of the manifest, at sizes by name; else at the example's."""
        values = tuple(sizes[each["name"]] for each in self.ranges.all) if sizes else self.ranges.example()
        return [self.ranges.entry(entry, values) for entry in self.manifest[part]]

    def set(self, name, value):
        self.check(self.library.stitch_set(name.encode(), ctypes.c_int64(value)))

    def create(self, parameters):
        self.check(self.library.stitch_create(*described(parameters), 0, ctypes.byref(self.handle)))

    def bound(self, inputs, outputs, stream):
        """A function that runs it on these; they stay alive with it."""
        arguments = (self.handle, *described(inputs), *described(outputs), ctypes.c_void_p(stream))
        tensors = inputs, outputs

        def run():
            self.check(self.library.stitch_run(*arguments))
            return tensors

        return run

    def check(self, status):
        if status:
            raise RuntimeError(self.library.stitch_last_error().decode())

    def destroy(self):
        self.library.stitch_destroy(self.handle)
        self.handle = ctypes.c_void_p()


def empty(entry, device="cuda"):
    """A tensor that lies as the program wants it."""
    return torch.empty_strided(entry["shape"], strides_of(entry), dtype=DTYPES[entry["dtype"]], device=device)
