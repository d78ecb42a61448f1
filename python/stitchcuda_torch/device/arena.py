"""Memory shared with a candidate's process, tensors in it by offset: the host's, and the device's.

Memory of the device is made with the driver's virtual memory functions, since their descriptors cross the walls of a sandbox and
cudaIpc's handles don't. On the CPU, where the emulated device's memory is the host's, it is a memory file.
"""

import ctypes
import fcntl
import math
import mmap
import os
import socket

import torch

from ..base import dtypes
from ..base.errors import TaskError

TYPES = {name: dtype for dtype, name in dtypes.NAMES.items()}
OUT_OF_MEMORY = 2
PINNED = AS_DESCRIPTOR = ON_DEVICE = RECOMMENDED = 1
READ_AND_WRITE = 3


class Arena:
    def __init__(self, descriptor):
        self.descriptor, self.bytes = descriptor, None

    def span(self, offset, count):
        """Bytes as a tensor; the memory may have grown since the last request."""
        if self.bytes is None or offset + count > self.bytes.numel():
            size = os.fstat(self.descriptor).st_size
            self.bytes = torch.frombuffer(mmap.mmap(self.descriptor, size), dtype=torch.uint8)
        if offset < 0 or offset + count > self.bytes.numel():
            raise ValueError(f"{count} bytes at {offset} are outside of the arena")
        return self.bytes[offset : offset + count]

    def upload(self, entry, device):
        """A copy, on the device, of a tensor {"dtype", "shape", "offset"}; zeros where the offset is -1."""
        dtype, shape = type_of(entry)
        if entry["offset"] < 0:
            return torch.zeros(shape, dtype=dtype, device=device)
        count = math.prod(shape) * dtype.itemsize
        tensor = torch.empty(shape, dtype=dtype, device=device)
        if count:
            tensor.view(-1).view(torch.uint8).copy_(self.span(entry["offset"], count))
        return tensor

    def store(self, flat, ranges, offset):
        """Ranges of a tensor's bytes, one after the other."""
        for begin, end in ranges:
            if not 0 <= begin <= end <= flat.numel():
                raise ValueError(f"bytes {begin} to {end} of a tensor of {flat.numel()}")
            self.span(offset, end - begin).copy_(flat[begin:end])
            offset += end - begin


def type_of(entry):
    """(dtype, shape) of {"dtype", "shape"}."""
    return TYPES[entry["dtype"]], tuple(entry["shape"])


def raw(tensor):
    """A contiguous tensor's bytes."""
    return tensor.reshape(-1).view(torch.uint8)


class MappedArena(Arena):
    """Of the device: memory that two processes map."""

    def __init__(self, memory):
        self.memory, self.bytes, self.size = memory, memory.tensor(), memory.size

    def span(self, offset, count):
        if offset < 0 or count < 0 or offset + count > self.size:
            raise ValueError(f"{count} bytes at {offset} are outside of the device arena")
        return self.bytes[offset : offset + count]

    def close(self):
        """Freed once all other mappings are gone. No tensor may refer to it any more."""
        self.bytes = None
        self.memory.free()


class DeviceArena(MappedArena):
    """The side that makes it; its descriptor is passed to the other process."""

    def __init__(self, count, device):
        super().__init__(GpuMemory(count, device) if device.type == "cuda" else HostMemory(count))

    def leave_at(self, path):
        """Sends the descriptor as a datagram to the path, where it waits for its receiver; the memory needs it no longer."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.connect(path)
            socket.send_fds(sender, [b"x"], [self.memory.descriptor])
        self.memory.close_descriptor()


class SharedArena(MappedArena):
    """The other side: maps another process's memory by its descriptor."""

    def __init__(self, descriptor, size, device):
        super().__init__(ImportedGpuMemory(descriptor, size, device) if device.type == "cuda" else ImportedHostMemory(descriptor, size))


class Memory:
    def close_descriptor(self):
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1


class HostMemory(Memory):
    def __init__(self, count):
        self.size, self.descriptor = count, os.memfd_create("stitch-device-arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, count)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)  # a candidate has it too

    def tensor(self):
        return torch.frombuffer(mmap.mmap(self.descriptor, self.size), dtype=torch.uint8)

    def free(self):
        self.close_descriptor()  # the mapping goes with the last tensor


class ImportedHostMemory(HostMemory):
    def __init__(self, descriptor, size):
        self.size, self.descriptor = size, os.dup(descriptor)


# As cuda.h has them; PyTorch gives no way to them.
class Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class Properties(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", Location),
        ("windows", ctypes.c_void_p),
        ("compression", ctypes.c_ubyte),
        ("remote_access", ctypes.c_ubyte),
        ("usage", ctypes.c_ushort),
        ("reserved", ctypes.c_ubyte * 4),
    ]


class Access(ctypes.Structure):
    _fields_ = [("location", Location), ("flags", ctypes.c_int)]


class GpuMemory(Memory):
    def __init__(self, count, device):
        self.begin(device)
        descriptor, unit = ctypes.c_int(-1), ctypes.c_size_t()
        properties = Properties(PINNED, AS_DESCRIPTOR, self.location)
        call("cuMemGetAllocationGranularity", ctypes.byref(unit), ctypes.byref(properties), ctypes.c_int(RECOMMENDED))
        self.size = -(-count // unit.value) * unit.value
        none = ctypes.c_ulonglong(0)
        call("cuMemCreate", ctypes.byref(self.handle), ctypes.c_size_t(self.size), ctypes.byref(properties), none)
        try:
            self.map()
            call("cuMemExportToShareableHandle", ctypes.byref(descriptor), self.handle, ctypes.c_int(AS_DESCRIPTOR), none)
            self.descriptor = descriptor.value
            self.tensor().zero_()  # earlier contents must not leak: they may be a reference result
            torch.cuda.synchronize()
        except BaseException:
            self.free()
            raise

    def begin(self, device):
        torch.cuda.synchronize()  # PyTorch's context is there, and this thread's
        self.device = torch.device("cuda", torch.cuda.current_device() if device.index is None else device.index)
        self.address, self.handle, self.location = ctypes.c_uint64(), ctypes.c_uint64(), Location(ON_DEVICE, self.device.index)
        self.descriptor, self.reserved, self.mapped = -1, False, False

    def map(self):
        size, none = ctypes.c_size_t(self.size), ctypes.c_ulonglong(0)
        call("cuMemAddressReserve", ctypes.byref(self.address), size, ctypes.c_size_t(0), ctypes.c_uint64(0), none)
        self.reserved = True
        call("cuMemMap", self.address, size, ctypes.c_size_t(0), self.handle, none)
        self.mapped = True
        call("cuMemSetAccess", self.address, size, ctypes.byref(Access(self.location, READ_AND_WRITE)), ctypes.c_size_t(1))

    @property
    def __cuda_array_interface__(self):
        return {"shape": (self.size,), "typestr": "|u1", "data": (self.address.value, False), "version": 2}

    def tensor(self):
        tensor = torch.as_tensor(self, device=self.device)
        if tensor.data_ptr() != self.address.value:
            raise TaskError("device", "PyTorch copies memory that it was to look at")
        return tensor

    def free(self):
        self.close_descriptor()
        torch.cuda.synchronize()
        size = ctypes.c_size_t(self.size)
        if self.mapped:
            call("cuMemUnmap", self.address, size)
        if self.reserved:
            call("cuMemAddressFree", self.address, size)
        call("cuMemRelease", self.handle)


class ImportedGpuMemory(GpuMemory):
    def __init__(self, descriptor, size, device):
        self.begin(device)
        self.size = size
        call("cuMemImportFromShareableHandle", ctypes.byref(self.handle), ctypes.c_void_p(descriptor), ctypes.c_int(AS_DESCRIPTOR))
        try:
            self.map()
        except BaseException:
            self.free()
            raise


def call(name, *arguments):
    """A function of the driver; all arguments are of ctypes, so that none is cut to an int."""
    driver = ctypes.CDLL("libcuda.so.1")
    code = getattr(driver, name)(*arguments)
    if code == OUT_OF_MEMORY:
        raise TaskError("memory", "the GPU's memory is full", "", "Ask again later.")
    if code:
        words = ctypes.c_char_p()
        driver.cuGetErrorName(ctypes.c_int(code), ctypes.byref(words))
        raise TaskError("device", f"{name}: {(words.value or b'').decode() or code}")
