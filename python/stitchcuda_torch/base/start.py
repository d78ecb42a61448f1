"""How a process starts: as a fork of a server that has imported PyTorch (lend/), or by importing it here.

Importing PyTorch with CUDA costs 4 to 5 s of a core (H200 machine). Where STITCHCUDA_TORCH_LENDER names a server's socket, this process
only passes on its stdio: the fork has its descriptors, folder and environment, and ends with it.
"""

import ctypes
import json
import os
import signal
import socket
import struct
import sys

from .errors import TaskError, first_line

VARIABLE = "STITCHCUDA_TORCH_LENDER"
LENDING = "lending\n"
NO_TORCH_FIX = (
    "pip install torch; where the system's Python may not be changed, make an environment of your own first: "
    "python3 -m venv .venv && .venv/bin/pip install torch"
)


def run(package, main):
    """`python -m stitchcuda_torch.PACKAGE`: main(arguments) in a borrowed process or in this one. Never returns."""
    code = borrow(package, sys.argv[1:])
    code = main(sys.argv[1:]) if code is None else code
    sys.stdout.flush()
    os._exit(code)  # leaves no time for other people's exit handlers to print or to hang


def borrow(package, arguments=()):
    """The exit code of the forked process; None without a server."""
    path = os.environ.get(VARIABLE)
    if not path:
        return None
    request = {"identity": identity(), "package": package, "arguments": list(arguments), "folder": os.getcwd(), "environment": dict(os.environ)}
    with socket.socket(socket.AF_UNIX) as lender:
        answers = lender.makefile()
        try:
            lender.connect(path)
            socket.send_fds(lender, [b"x"], [0, 1, 2])
            lender.sendall(json.dumps(request).encode() + b"\n")
            if answers.readline() != LENDING:
                return None
        except OSError:
            return None
        # From here on stdin is the fork's: if it dies, so does this process.
        return int(answers.readline() or 1)


def identity():
    """A server lends to clients of the same Python and the same copy of this package."""
    return [sys.executable, sys.version, os.path.abspath(__file__)]


def may_borrow(borrower):
    """Refuses clients that are more confined than this process: the fork would escape their sandbox."""
    try:
        pid, user, _ = struct.unpack("3i", borrower.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return user == os.getuid() and all(its <= own for its, own in zip(confinement(pid), confinement("self")))
    except (OSError, ValueError):
        return False


def confinement(pid):
    """Irrevocable marks of a confined process: no_new_privs and seccomp filters."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        status = dict(line.split(":", 1) for line in file if ":" in line)
    return [int(status.get(name, 0)) for name in ("NoNewPrivs", "Seccomp", "Seccomp_filters")]


def import_torch():
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise TaskError("no_torch", f"PyTorch is not installed for {sys.executable}: {first_line(error)}", "", NO_TORCH_FIX) from error


def die_with(parent):
    """However the parent ends, even by SIGKILL, this process ends too."""
    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
