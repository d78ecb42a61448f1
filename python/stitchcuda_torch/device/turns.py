"""Shared and exclusive use of the GPU: exclusive for timing, shared for everything else (gpu/gpu_lock.h)."""

import contextlib
import fcntl
import os
import sys
import time

SECONDS_OF_A_TURN = 1.0  # before it makes room for others


class Turns:
    """folder: of the lock files; without one, the caller holds the GPU already."""

    def __init__(self, folder=None):
        self.folder, self.room, self.waited = folder, None, 0.0  # waited: seconds, for exclusive users
        self.entered = 0.0

    @contextlib.contextmanager
    def beside_others(self):
        """No wait if this process already holds a turn."""
        if self.folder is None or self.room is not None:
            yield
            return
        self.enter()
        try:
            yield
        finally:
            self.leave()

    def pause(self):
        """Between two parts of a long turn: lets pending exclusive users go first."""
        if self.room is None or time.monotonic() - self.entered < SECONDS_OF_A_TURN:
            return
        try:
            os.close(self.locked("gpu.door", fcntl.LOCK_EX | fcntl.LOCK_NB))
        except BlockingIOError:
            self.leave()
            self.enter()

    def enter(self):
        start = time.monotonic()
        os.makedirs(self.folder, exist_ok=True)
        door = self.locked("gpu.door", fcntl.LOCK_EX)  # pending exclusive users hold it
        try:
            self.room = self.locked("gpu.lock", fcntl.LOCK_SH)
        finally:
            os.close(door)
        self.entered = time.monotonic()
        self.waited += self.entered - start

    def leave(self):
        room, self.room = self.room, None
        try:
            finish_on_gpu()
        finally:
            os.close(room)

    def locked(self, name, how):
        descriptor = os.open(os.path.join(self.folder, name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, how)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor


def finish_on_gpu():
    """Work started in a turn must end in it."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        with contextlib.suppress(RuntimeError):  # the next use of a lost GPU reports it
            torch.cuda.synchronize()
