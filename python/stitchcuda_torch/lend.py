"""python -m stitchcuda_torch.lend SOCKET [TASK.py…]: a server that has imported PyTorch, and what these tasks import,
and forks a process for each verification.

Clients have STITCHCUDA_TORCH_LENDER=SOCKET in the environment. The fork takes over the client's stdio, cwd and environment,
and exits with client or server. Importing PyTorch with CUDA costs 4 to 5 s of a core (H200 machine), which a sweep over
many tasks pays once this way.
"""

import contextlib
import gc
import json
import os
import signal
import socket
import struct
import sys
import threading

from . import protocol

VARIABLE = "STITCHCUDA_TORCH_LENDER"
LENT = ("reference_server", "export")
LENDING = "lending\n"


def identity():
    return [sys.executable, sys.version, os.path.abspath(__file__)]


def borrow(module, arguments=()):
    """The exit code of the forked process; None without a server."""
    path = os.environ.get(VARIABLE)
    if not path:
        return None
    request = {"identity": identity(), "module": module, "arguments": list(arguments), "folder": os.getcwd(), "environment": dict(os.environ)}
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
        # From here on stdin is the other's: if that dies, so does this.
        return int(answers.readline() or 1)


def main(path, tasks=()):
    protocol.quiet_libraries()
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # looking for a GPU must not start CUDA: that survives no fork
    from . import answers, export, preload, reference_server, serve  # noqa: F401
    serve.warm_up()
    with contextlib.suppress(Exception):
        import torch._inductor.compile_fx  # noqa: F401  2 s for each who compiles a baseline
    preload.preload(tasks)
    if tasks and sys.modules["torch"].cuda.is_initialized():  # by one of them, and no fork could use it
        os.execv(sys.executable, [sys.executable, "-m", "stitchcuda_torch.lend", path])
    # Where NVML doesn't answer, looking for a GPU asks CUDA, which survives no fork: no loss where there is none.
    has_gpu = sys.modules["torch"].cuda.device_count() > 0
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are reaped automatically
    with socket.socket(socket.AF_UNIX) as listener:
        os.umask(0o077)
        listener.settimeout(None)
        listener.bind(path)
        listener.listen(64)
        print("ready", flush=True)
        while True:
            lend(listener, has_gpu)


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


def lend(listener, has_gpu):
    borrower, _ = listener.accept()
    with borrower:
        descriptors = []
        try:
            if not may_borrow(borrower):
                return
            borrower.settimeout(10)
            _, descriptors, _, _ = socket.recv_fds(borrower, 1, 3)
            request = json.loads(borrower.makefile().readline())
            borrower.settimeout(None)
            if request["identity"] == identity() and request["module"] in LENT and os.fork() == 0:
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
        threading.Thread(target=die_with, args=[borrower], daemon=True).start()
        from . import export, reference_server
        modules = {"reference_server": reference_server, "export": export}
        code = modules[request["module"]].main(request["arguments"])
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


def die_with(borrower):
    """A borrower that was killed has closed its end."""
    borrower.recv(1)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
