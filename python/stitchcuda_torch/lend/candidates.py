"""python -m stitchcuda_torch.lend.candidates SOCKET WALLS: a server that has imported PyTorch and forks a process for each candidate.

A fork confines itself (WALLS: libstitch-walls.so) before it reads a request, and then equals
`stitch-confine … python -m stitchcuda_torch.candidate`, except that it can see this process's memory. So this process must hold
nothing that a candidate must not see: it has a clean environment, imports only what every candidate has, and leaves reading the
request to the fork. CUDA must not be started here.

Each candidate has two processes: the second, outside the sandbox, reports how the first ended and exits with the client.
"""

import ctypes
import json
import os
import runpy
import select
import signal
import socket
import struct
import sys
import tempfile

from ..base import protocol
from . import serve

DESCRIPTORS = 6  # 0 to 5 of src/runner/README.md
LENGTH = struct.Struct("=I")
NUMBER = struct.Struct("=i")
MOST_BYTES = 1 << 20


def main(path, library):
    walls = ctypes.CDLL(library)
    walls.stitch_put_up_walls.restype = ctypes.c_char_p
    sys.path.pop(0)  # this process's folder is none of theirs
    protocol.quiet_libraries()
    from ..candidate import requests  # noqa: F401  PyTorch, and what stands around a ModelNew

    serve(path, lambda listener, borrower: lend(listener, borrower, walls))


def lend(listener, borrower, walls):
    if os.fork() != 0:
        return
    try:
        listener.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setpgid(0, 0)
        borrower.settimeout(10)
        head, descriptors, _, _ = socket.recv_fds(borrower, LENGTH.size, DESCRIPTORS)
        text = receive(borrower, LENGTH.unpack(head)[0])
        borrower.settimeout(None)
        asked = json.loads(text)
        if len(descriptors) != DESCRIPTORS or asked["python"] != sys.executable:
            os._exit(1)
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            borrower.close()
            become(descriptors, asked, walls, parent)
        for descriptor in descriptors:
            os.close(descriptor)
        borrower.sendall(NUMBER.pack(parent))
        keep(borrower, child)
    finally:
        os._exit(1)


def receive(borrower, length):
    if length > MOST_BYTES:
        raise ValueError("too long")
    data = b""
    while len(data) < length:
        more = borrower.recv(length - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def keep(borrower, child):
    """Waits until the exit status is sent or the client is gone, then kills the process group."""
    ended = os.pidfd_open(child)
    ready, _, _ = select.select([borrower, ended], [], [])
    if borrower not in ready:
        borrower.sendall(NUMBER.pack(os.waitpid(child, 0)[1]))
        borrower.recv(1)
    os.killpg(0, signal.SIGKILL)


def become(descriptors, asked, walls, parent):
    # First out of the way of the numbers to come, then to them.
    moved = [os.dup(descriptor) for descriptor in descriptors]
    while min(moved) < DESCRIPTORS:
        moved = [os.dup(descriptor) for descriptor in moved]
    for number, descriptor in enumerate(moved):
        os.dup2(descriptor, number)
    trouble = walls.stitch_put_up_walls(asked["confinement"].encode(), asked["group"].encode(), parent)
    if trouble:
        os.write(2, b"stitch-walls: " + trouble + b"\n")
        os._exit(126)
    environment = json.loads(asked["confinement"])["environment"]
    os.environ.clear()
    os.environ.update(environment)
    protocol.quiet_libraries()
    tempfile.tempdir = None
    sys.path.insert(0, os.getcwd())
    sys.argv = ["candidate"]
    del asked, environment
    runpy.run_module("stitchcuda_torch.candidate", run_name="__main__", alter_sys=True)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
