"""Programs are found again by the hash of what they compute and of what they were made with."""

import fcntl
import hashlib
import json
import os
import shutil
import time

from . import tool
from .errors import StitchError
from .folder import RECORD, Folder


def key(exported, **choices):
    facts = os.stat(tool.binary())
    made_by = [facts.st_size, facts.st_mtime_ns]
    return hashlib.sha256(json.dumps([exported.hash(), made_by, choices], sort_keys=True).encode()).hexdigest()[:32]


def find(name, budget, quick):
    """The Folder of an earlier run that had at least this budget; None: there is none."""
    path = os.path.join(tool.programs(), name)
    if not os.path.exists(os.path.join(path, RECORD)):
        return None
    try:
        folder = Folder(path)
    except StitchError:
        return None
    enough = folder.record.get("budget", 0) >= budget and (quick or not folder.record.get("quick"))
    return folder if enough and not folder.record.get("stopped") else None


class Place:
    """A draft folder for a program, renamed atomically when complete."""

    def __init__(self, name):
        self.final = os.path.join(tool.programs(), name)
        self.draft = f"{self.final}.{os.getpid()}"

    def __enter__(self):
        try:
            os.makedirs(tool.programs(), exist_ok=True)
            remove_dead()
            os.makedirs(self.draft)
            self.lock = open(os.path.join(self.draft, "lock"), "w")
            fcntl.flock(self.lock, fcntl.LOCK_EX)
        except OSError as error:
            raise StitchError(f"the cache {tool.programs()} cannot be written: {error.strerror}", "set STITCHCUDA_CACHE to another folder") from error
        return self

    def keep(self, made):
        """`made` was made inside the draft; a program that is there already gives way."""
        old = f"{self.final}.{os.getpid()}.old"
        if os.path.exists(self.final):
            os.rename(self.final, old)
        try:
            os.rename(made, self.final)
        except OSError:  # another process was faster
            if not os.path.exists(self.final):
                raise
        shutil.rmtree(old, ignore_errors=True)
        return Folder(self.final)

    def __exit__(self, *_):
        self.lock.close()
        shutil.rmtree(self.draft, ignore_errors=True)


def remove_dead():
    """Removes drafts of killed processes, whose locks are free."""
    for name in os.listdir(tool.programs()):
        lock = os.path.join(tool.programs(), name, "lock")
        if "." not in name or not os.path.exists(lock):
            continue
        try:
            if time.time() - os.path.getmtime(lock) < 60:  # its creator may not hold it yet
                continue
            with open(lock) as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(os.path.join(tool.programs(), name), ignore_errors=True)
        except OSError:
            continue
