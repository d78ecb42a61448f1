"""Writes and reads safetensors files: a u64 header length, a JSON header, then raw little-endian data.

To disk, tensors are streamed from their own memory, so writing the weights needs no second copy of them. In shared
memory the file is mapped, and a GPU copies straight into it.
"""

import contextlib
import ctypes
import json
import mmap
import os
import struct

import torch

from . import dtypes
from .errors import TaskError

CHUNK = 1 << 28
TORCH_TYPES = {name.upper(): dtype for dtype, name in dtypes.NAMES.items()}


def dtype_name(dtype):
    if dtype not in dtypes.NAMES:
        raise TaskError("export", f"a tensor of dtype {dtypes.name(dtype)} cannot be stored")
    return dtypes.NAMES[dtype].upper()


def write(path, tensors):
    """tensors: {name: tensor}, written in that order."""
    head, _ = _head(tensors)
    with disk_errors(path), open(path, "wb", buffering=0) as file:
        _write_all(file, head)
        for tensor in tensors.values():
            _write_tensor(file, tensor)
        os.fsync(file.fileno())  # some file systems only now say that they are full


def write_mapped(path, tensors):
    """The same file, for tmpfs: one copy, from wherever the tensors are. Mappings of an older file there stay valid."""
    head, size = _head(tensors)
    part = f"{path}.part"
    try:
        with disk_errors(path), open(part, "w+b") as file:
            os.posix_fallocate(file.fileno(), 0, len(head) + size)  # a full tmpfs is an error here, and SIGBUS later
            mapping = mmap.mmap(file.fileno(), len(head) + size)
        mapping[: len(head)] = head
        body, offset = torch.frombuffer(mapping, dtype=torch.uint8), len(head)
        for tensor in tensors.values():
            flat = _plain(tensor).reshape(-1).view(torch.uint8)
            body[offset : offset + flat.numel()].copy_(flat)
            offset += flat.numel()
        with disk_errors(path):
            os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(part)
        raise


def _head(tensors):
    """(everything before the data, size of the data)."""
    header, offset = {}, 0
    for name, tensor in tensors.items():
        size = tensor.numel() * tensor.element_size()
        header[name] = {"dtype": dtype_name(tensor.dtype), "shape": list(tensor.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text, offset


@contextlib.contextmanager
def disk_errors(path):
    try:
        yield
    except OSError as error:
        raise TaskError("disk", f"cannot write {path}: {error.strerror}", "", "Free some space, or choose another output folder.") from error


def _plain(tensor):
    return tensor.detach().resolve_conj().resolve_neg().contiguous()


def _write_tensor(file, tensor):
    tensor = _plain(tensor).cpu()
    size = tensor.numel() * tensor.element_size()
    if size:
        _write_all(file, (ctypes.c_char * size).from_address(tensor.data_ptr()))


def _write_all(file, data):
    view = memoryview(data).cast("B")
    while view:
        view = view[file.write(view[:CHUNK]) :]


def read(path):
    """{name: tensor}, mapped privately: nothing is read before it is used, and writing to it changes no file."""
    try:
        with open(path, "rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        length = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8 : 8 + length])
        return {name: _slice(data, 8 + length, entry) for name, entry in header.items() if name != "__metadata__"}
    except OSError as error:
        raise TaskError("disk", f"cannot read {path}: {error.strerror}") from error
    except (struct.error, ValueError, KeyError, TypeError, AttributeError, RuntimeError) as error:
        raise TaskError("disk", f"{path} is not a safetensors file: {error}") from error


def _slice(data, body, entry):
    dtype, (begin, end) = TORCH_TYPES[entry["dtype"]], entry["data_offsets"]
    if end == begin:
        return torch.empty(entry["shape"], dtype=dtype)
    flat = torch.frombuffer(data, dtype=torch.uint8, count=end - begin, offset=body + begin)
    if flat.data_ptr() % dtype.itemsize:
        flat = flat.clone()
    return flat.view(dtype).reshape(entry["shape"])
