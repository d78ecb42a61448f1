"""Writes and reads safetensors files: a u64 header length, a JSON header, then raw little-endian data.

Tensors are streamed from their own memory, so writing the weights needs no second copy of them.
"""

import ctypes
import json
import os
import struct

import torch

from . import dtypes
from .errors import TaskError

CHUNK = 1 << 28


def dtype_name(dtype):
    if dtype not in dtypes.NAMES:
        raise TaskError("export", f"a tensor of dtype {dtypes.name(dtype)} cannot be stored")
    return dtypes.NAMES[dtype].upper()


def write(path, tensors):
    """tensors: {name: tensor}, written in that order."""
    header, offset = {}, 0
    for name, tensor in tensors.items():
        size = tensor.numel() * tensor.element_size()
        header[name] = {"dtype": dtype_name(tensor.dtype), "shape": list(tensor.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    try:
        with open(path, "wb", buffering=0) as file:
            _write_all(file, struct.pack("<Q", len(text)))
            _write_all(file, text)
            for tensor in tensors.values():
                _write_tensor(file, tensor)
            os.fsync(file.fileno())  # some file systems only now say that they are full
    except OSError as error:
        raise TaskError("disk", f"cannot write {path}: {error.strerror}", "",
                        "Free some space, or choose another output folder.") from error
    return offset


def _write_tensor(file, tensor):
    tensor = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    size = tensor.numel() * tensor.element_size()
    if size:
        _write_all(file, (ctypes.c_char * size).from_address(tensor.data_ptr()))


def _write_all(file, data):
    view = memoryview(data).cast("B")
    while view:
        view = view[file.write(view[:CHUNK]):]


def read(path):
    """{name: tensor}; small files only (everything is copied)."""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    body = bytearray(data[8 + length:])
    torch_types = {name.upper(): dtype for dtype, name in dtypes.NAMES.items()}
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        dtype, (begin, end) = torch_types[entry["dtype"]], entry["data_offsets"]
        flat = torch.frombuffer(body[begin:end], dtype=dtype) if end > begin else torch.empty(0, dtype=dtype)
        tensors[name] = flat.reshape(entry["shape"])
    return tensors
