"""What the Verifier found, as an object; `verify` asks it about a candidate."""

import dataclasses
import json
import os
import tempfile

from . import tool
from .errors import StitchError, error_of


@dataclasses.dataclass(frozen=True)
class Verdict:
    passed: bool
    gate: str = ""  # that it failed at
    code: str = ""
    reason: str = ""
    gates: tuple = ()
    notes: tuple = ()
    timing: dict | None = None
    document: dict = dataclasses.field(default_factory=dict, repr=False)

    def __bool__(self):
        if not self.judged:
            raise StitchError(f"{self}; so it neither passed nor failed", "ask verdict.judged first")
        return self.passed

    def __str__(self):
        if self.passed:
            return "passed"
        if not self.judged:
            return f"not judged: {self.reason}" + (f" (fix: {self.fix})" if self.fix else "")
        return f"failed at {self.gate}: {self.reason}"

    @property
    def fix(self):
        """What to do about the machine, where it was at fault."""
        return self.document.get("fix", "")

    @property
    def judged(self):
        """False: the machine was at fault (no GPU, no compiler, out of memory), so there is no verdict."""
        return self.document.get("verdict") in ("passed", "failed")

    @property
    def speedup(self):
        """Over the best PyTorch baseline; None where nothing was timed."""
        return (self.timing or {}).get("speedup")


def from_document(document):
    return Verdict(
        document.get("verdict") == "passed",
        document.get("gate", ""),
        document.get("code", ""),
        document.get("reason", ""),
        tuple(document.get("gates", ())),
        tuple(document.get("notes", ())),
        document.get("timing"),
        document,
    )


MODES = ("eval", "train")


def verify(candidate, task, *, device=None, numerics="default", mode=None, timing=True, seed=None, timeout=None, options=()):
    """Judges a candidate (a program's folder, a .cu file, a .py file with ModelNew, or the text of either) for a task
    (a .py file in KernelBench's form, or its text). A pathlib.Path is a path; a str is one if it exists, has a slash and no
    blank, or ends in .py or .cu. A bad candidate is a Verdict that failed, never an exception; where the machine was at fault
    verdict.judged is False. StitchError says that the question was wrong: no such file, a task that can't be imported.
    mode: "eval" or "train", otherwise as the task has it; seed: of an earlier verdict, to repeat it; options: more words for
    `stitchcuda verify`."""
    if mode not in (None, *MODES):
        raise ValueError(f"mode must be one of {', '.join(map(repr, MODES))}, not {mode!r}")
    with tempfile.TemporaryDirectory(prefix="stitchcuda-") as folder:
        task = as_file(task, folder, "task.py")
        candidate = as_file(candidate, folder, "candidate.cu" if is_cuda(str(candidate)) else "model_new.py")
        words = ["verify", candidate, "--task", task, "--json", "--numerics", numerics, *options]
        if device:
            words += ["--device", device]
        if mode:
            words += ["--" + mode]
        if not timing:
            words += ["--baselines", "none"]
        if seed is not None:
            words += ["--seed", seed]
        code, out, err = tool.run(words, timeout)
    try:
        document = json.loads(out)
    except ValueError:
        document = {}
    if "verdict" in document:
        if document.get("code") == "no_gpu" and device == "cuda":
            document["fix"] = "device='emulated', or judge it where there is a GPU"
        return from_document(document)
    told = document.get("error", {})
    error = error_of(told, err.strip()[-500:] or f"stitchcuda verify ended with code {code}")
    if told.get("code") in CANDIDATES_FAULTS:
        return from_document({"verdict": "failed", "gate": "start", "code": told["code"], "reason": error.message})
    raise error


CANDIDATES_FAULTS = ("compile", "package", "manifest")


def is_cuda(text):
    return "ModelNew" not in text and any(word in text for word in ("__global__", "#include", "stitch_run"))


def is_path(what):
    if not isinstance(what, str):
        return True
    looks_like_one = what.endswith((".py", ".cu")) or (os.sep in what and not any(map(str.isspace, what)))
    return bool(what) and "\n" not in what and (looks_like_one or os.path.exists(what))


def as_file(what, folder, name):
    if is_path(what):
        path = os.fspath(what)
        if not os.path.exists(path):
            raise StitchError(f"there is no {path}")
        return path
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(what)
    return path
