"""Programs are found again by the hash of what they compute and of what they were made with."""

import dataclasses
import fcntl
import hashlib
import json
import os
import shutil
import time

from stitchcuda_torch.base import safetensors

from . import tool, trees
from .errors import StitchError
from .folder import RECORD, Folder


def made_by():
    facts = os.stat(tool.binary())
    return [facts.st_size, facts.st_mtime_ns]


def key(exported, **choices):
    return hashlib.sha256(json.dumps([exported.hash(), made_by(), choices], sort_keys=True).encode()).hexdigest()[:32]


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


@dataclasses.dataclass
class Known:
    """What is left of an Exported, for a module whose program is there."""

    key: str
    name: str
    call: dict
    dropouts: int
    batch_statistics: int
    draws: bool
    tensors: dict

    def constants(self):
        return self.tensors


def remember(mark, exported, key):
    """The program's key under the module's fingerprint. What can't be written to a file is found by an export."""
    constants = exported.constants()
    if mark is None or any(tensor.is_complex() for tensor in constants.values()):
        return
    facts = {field.name: getattr(exported, field.name) for field in dataclasses.fields(Known) if hasattr(exported, field.name)}
    place = known_place(mark)
    draft = f"{place}.{os.getpid()}"
    try:
        facts["call"] = trees.call_to_json(exported.call)
        os.makedirs(draft)
        safetensors.write(os.path.join(draft, "constants.safetensors"), constants)
        with open(os.path.join(draft, "known.json"), "w") as file:
            json.dump({**facts, "key": key}, file)
        shutil.rmtree(place, ignore_errors=True)
        os.rename(draft, place)
    except (StitchError, TypeError, OSError):
        shutil.rmtree(draft, ignore_errors=True)


def recall(mark, home):
    """A Known; None: there is none. home: the module of the model's class."""
    if mark is None or not os.path.exists(known_place(mark)):
        return None
    try:
        with open(os.path.join(known_place(mark), "known.json")) as file:
            facts = json.load(file)
        tensors = safetensors.read(os.path.join(known_place(mark), "constants.safetensors"))
        return Known(**{**facts, "call": trees.call_from_json(facts["call"], home)}, tensors=tensors)
    except Exception:  # cut off, or by another version
        forget(mark)
        return None


def forget(mark):
    shutil.rmtree(known_place(mark), ignore_errors=True)


def known_place(mark):
    return os.path.join(tool.programs(), "known", mark)


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
