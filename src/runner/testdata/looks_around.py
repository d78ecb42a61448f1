"""Tries what no candidate may, and says in an exception what worked."""

import ctypes
import glob
import os
import socket

import torch


def worked(what, *arguments):
    try:
        return bool(what(*arguments) or True)
    except OSError:
        return False


def connects():
    with socket.socket(socket.AF_INET) as one:
        one.connect(("127.0.0.1", 22))


def borrows():
    for path in glob.glob("/tmp/stitchcuda-candidates*/socket"):
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(path)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        parent = os.getppid()
        found = {
            "reads /etc/passwd": worked(open, "/etc/passwd"),
            "lists /": worked(os.listdir, "/"),
            "lists /tmp": worked(os.listdir, "/tmp"),
            "reads its parent's environment": worked(open, f"/proc/{parent}/environ"),
            "writes to /tmp": worked(open, "/tmp/stitch-was-here", "w"),
            "connects": worked(connects),
            "opens a socket": worked(socket.socket, socket.AF_INET),
            "traces": ctypes.CDLL(None).ptrace(16, parent, 0, 0) == 0,
            "has the secret": "sesame" in str(os.environ),
            "knows the lender": any("LENDER" in name for name in os.environ) or bool(glob.glob("/tmp/stitchcuda-candidates*")),
            "had privileges to gain": "NoNewPrivs:\t1" not in open("/proc/self/status").read(),
            "has capabilities": "CapEff:\t0000000000000000" not in open("/proc/self/status").read(),
            "has more descriptors": sum(os.path.exists(f"/proc/self/fd/{number}") for number in range(6, 200)) > 1,
        }
        raise RuntimeError("found: " + ", ".join(name for name, was in found.items() if was) + "; at home in "
                           + str(os.environ["HOME"] == os.getcwd()))
