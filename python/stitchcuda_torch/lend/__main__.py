"""python -m stitchcuda_torch.lend SOCKET [TASK.py…]: a server that has imported PyTorch, and what these tasks import,
and forks a process for each verification.

Clients have STITCHCUDA_TORCH_LENDER=SOCKET in the environment (base/start.py). The fork takes over the client's stdio, cwd and
environment, and exits with client or server.
"""

import contextlib
import json
import os
import signal
import socket
import sys
import threading

from ..base import protocol
from ..base.start import LENDING, VARIABLE, identity
from ..export import __main__ as exporter
from ..export import serve
from ..reference import __main__ as reference_server
from ..task import preload
from . import serve as serve_forks

LENT = {"export": exporter, "reference": reference_server}


def main(path, tasks=()):
    protocol.quiet_libraries()
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # looking for a GPU must not start CUDA: that survives no fork
    from ..reference import answers  # noqa: F401

    serve.warm_up()
    with contextlib.suppress(Exception):
        import torch._inductor.compile_fx  # noqa: F401  2 s for each process that compiles a baseline
    preload.preload(tasks)
    if tasks and sys.modules["torch"].cuda.is_initialized():  # by one of them, and no fork could use it
        os.execv(sys.executable, [sys.executable, "-m", "stitchcuda_torch.lend", path])
    # Where NVML doesn't answer, looking for a GPU asks CUDA, which survives no fork: no loss where there is none.
    has_gpu = sys.modules["torch"].cuda.device_count() > 0
    serve_forks(path, lambda listener, borrower: lend(listener, borrower, has_gpu))


def lend(listener, borrower, has_gpu):
    descriptors = []
    try:
        borrower.settimeout(10)
        _, descriptors, _, _ = socket.recv_fds(borrower, 1, 3)
        request = json.loads(borrower.makefile().readline())
        borrower.settimeout(None)
        if request["identity"] == identity() and request["package"] in LENT and os.fork() == 0:
            listener.close()
            become(borrower, descriptors, request, has_gpu)
    except (OSError, ValueError):
        pass
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def become(borrower, descriptors, request, has_gpu):
    import torch

    code = 1
    try:
        if has_gpu and torch.cuda._is_in_bad_fork():
            return
        borrower.sendall(LENDING.encode())
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for target, descriptor in enumerate(descriptors):
            os.dup2(descriptor, target)
            os.close(descriptor)
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        del os.environ[VARIABLE]  # it is here already
        take_threads(torch)
        threading.Thread(target=die_with_borrower, args=[borrower], daemon=True).start()
        code = LENT[request["package"]].main(request["arguments"])
        sys.stdout.flush()
        borrower.sendall(f"{code}\n".encode())
    finally:
        os._exit(code)


def take_threads(torch):
    """What PyTorch read of the lender's environment when it was imported."""

    def told(name):
        return int(os.environ[name]) if os.environ.get(name, "").isdigit() else 0

    if told("OMP_NUM_THREADS"):
        torch.set_num_threads(told("OMP_NUM_THREADS"))
    inductor = sys.modules.get("torch._inductor.config")
    if inductor and told("TORCHINDUCTOR_COMPILE_THREADS"):
        inductor.compile_threads = told("TORCHINDUCTOR_COMPILE_THREADS")


def die_with_borrower(borrower):
    """A borrower that was killed has closed its end."""
    borrower.recv(1)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
