"""Shared and exclusive use of the GPU: exclusive for timing, shared for everything else (src/gpu/gpu_lock.h)."""

import contextlib
import fcntl
import os
import sys
import time

SECONDS_AT_A_TIME = 1.0  # before pending exclusive users go first


class GpuLock:
    """folder: of the lock files; without one, the caller holds the GPU already."""

    def __init__(self, folder=None):
        self.folder, self.held, self.waited = folder, None, 0.0  # waited: seconds, for exclusive users
        self.entered = 0.0

    @contextlib.contextmanager
    def shared(self):
        """No wait if this process already holds it."""
        if self.folder is None or self.held is not None:
            yield
            return
        self.acquire()
        try:
            yield
        finally:
            self.release()

    def make_way(self):
        """Between two parts of long work: lets pending exclusive users go first."""
        if self.held is None or time.monotonic() - self.entered < SECONDS_AT_A_TIME:
            return
        try:
            os.close(self.locked("gpu.door", fcntl.LOCK_EX | fcntl.LOCK_NB))
        except BlockingIOError:
            self.release()
            self.acquire()

    def acquire(self):
        start = time.monotonic()
        os.makedirs(self.folder, exist_ok=True)
        door = self.locked("gpu.door", fcntl.LOCK_EX)  # pending exclusive users hold it
        try:
            self.held = self.locked("gpu.lock", fcntl.LOCK_SH)
        finally:
            os.close(door)
        self.entered = time.monotonic()
        self.waited += self.entered - start

    def release(self):
        held, self.held = self.held, None
        try:
            finish_on_gpu()
        finally:
            os.close(held)

    def locked(self, name, how):
        descriptor = os.open(os.path.join(self.folder, name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, how)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor


HELD = GpuLock()


def finish_on_gpu():
    """Work started under the lock must end under it."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        with contextlib.suppress(RuntimeError):  # the next use of a lost GPU reports it
            torch.cuda.synchronize()
