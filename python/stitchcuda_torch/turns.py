"""Turns on the GPU: whoever times something has it alone, everybody else uses it beside others (device/gpu_lock.h)."""

import contextlib
import fcntl
import os


class Turns:
    """Over the folder of the locked files; without one, whoever asks has the GPU already."""

    def __init__(self, folder=None):
        self.folder = folder

    @contextlib.contextmanager
    def beside_others(self):
        if self.folder is None:
            yield
            return
        os.makedirs(self.folder, exist_ok=True)
        with contextlib.ExitStack() as room:
            with self.locked("gpu.door", fcntl.LOCK_EX):  # whoever waits for the room holds it shut
                room.enter_context(self.locked("gpu.lock", fcntl.LOCK_SH))
            yield

    @contextlib.contextmanager
    def locked(self, name, how):
        descriptor = os.open(os.path.join(self.folder, name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, how)
            yield
        finally:
            os.close(descriptor)
