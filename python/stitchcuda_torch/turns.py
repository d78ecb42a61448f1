"""Turns on the GPU: whoever times something has it alone, everybody else uses it beside others (device/gpu_lock.h)."""

import contextlib
import fcntl
import os
import sys
import time


SECONDS_OF_A_TURN = 1.0  # before it makes room for others


class Turns:
    """Over the folder of the locked files; without one, whoever asks has the GPU already."""

    def __init__(self, folder=None):
        self.folder, self.room, self.waited = folder, None, 0.0  # waited: seconds, for those who had it alone
        self.entered = 0.0

    @contextlib.contextmanager
    def beside_others(self):
        """Within another turn of its own there is nothing to wait for."""
        if self.folder is None or self.room is not None:
            yield
            return
        self.enter()
        try:
            yield
        finally:
            self.leave()

    def pause(self):
        """Between two pieces of a long turn: whoever waits to be alone goes first, if anybody does."""
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
        door = self.locked("gpu.door", fcntl.LOCK_EX)  # those who wait for the room alone hold it shut together
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
    """What was started in a turn ends in it."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        with contextlib.suppress(RuntimeError):  # a GPU that is lost is noticed by whoever uses it next
            torch.cuda.synchronize()
