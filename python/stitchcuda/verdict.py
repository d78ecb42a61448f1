"""What the Verifier found, as an object; `verify` asks it about a candidate."""

import dataclasses
import json
import os
import tempfile

from . import tool
from .errors import StitchError


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
        return self.passed

    def __str__(self):
        return "passed" if self.passed else f"{self.document.get('verdict', 'failed')} at {self.gate}: {self.reason}"

    @property
    def judged(self):
        """False: the machine was at fault (no GPU, no compiler, out of memory), and nothing was found out."""
        return self.document.get("verdict") in ("passed", "failed")

    @property
    def speedup(self):
        """Over the best PyTorch baseline; None where nothing was timed."""
        return (self.timing or {}).get("speedup")


def from_document(document):
    return Verdict(document.get("verdict") == "passed", document.get("gate", ""), document.get("code", ""), document.get("reason", ""),
                   tuple(document.get("gates", ())), tuple(document.get("notes", ())), document.get("timing"), document)


def verify(candidate, task, *, device=None, numerics="default", timing=True, seed=None, timeout=None, options=()):
    """Judges a candidate (a program's folder, a .cu file, a .py file with ModelNew, or the text of either) for a task
    (a .py file in KernelBench's form, or its text). A bad candidate is a Verdict that failed, never an exception;
    StitchError says that the question was wrong: no such file, a task that can't be imported. seed: of an earlier
    verdict, to repeat it; options: more words for `stitchcuda verify`."""
    with tempfile.TemporaryDirectory(prefix="stitchcuda-") as folder:
        task = as_file(task, folder, "task.py")
        candidate = as_file(candidate, folder, "candidate.cu" if "__global__" in str(candidate) and "ModelNew" not in str(candidate)
                            else "model_new.py")
        words = ["verify", candidate, "--task", task, "--json", "--numerics", numerics, *options]
        if device:
            words += ["--device", device]
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
        return from_document(document)
    error = document.get("error", {})
    message = error.get("message") or err.strip()[-500:] or f"stitchcuda verify ended with code {code}"
    if code == 2 and error.get("kind") not in ("compile", "package", "manifest"):
        raise StitchError(message, error.get("fix", ""))
    return Verdict(False, "start", error.get("kind", ""), message, document={"verdict": "failed", **document})


def as_file(what, folder, name):
    text = os.fspath(what)
    if "\n" not in text:
        if not os.path.exists(text):
            raise StitchError(f"there is no {text}")
        return text
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path
