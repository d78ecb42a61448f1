"""The one error a user sees: what is wrong, where, and how to fix it (kinds: stitchcuda_torch/README.md)."""

import errno

from . import memory


class TaskError(Exception):
    def __init__(self, kind, message, where="", fix=""):
        super().__init__(message)
        self.kind, self.message, self.where, self.fix = kind, message, where, after_a_colon(fix)

    def as_json(self):
        return {"kind": self.kind, "message": self.message, "where": self.where, "fix": self.fix}


class Refused(Exception):
    """A request that a candidate can't answer, with its status: an answer, not a crash (src/runner/README.md)."""

    def __init__(self, message, status=1):
        super().__init__(message)
        self.status = status


class Fault(Exception):
    """A candidate's process can't go on."""


def after_a_colon(text):
    """It is shown as "fix: …": no capital letter at its start (but names keep theirs), no full stop at its end."""
    if len(text) > 1 and text[1].islower() and not text.startswith(("HF_", "Python", "PyTorch")):
        text = text[0].lower() + text[1:]
    return text[:-1] if text.endswith(".") else text


# Packages whose import name isn't the name pip knows.
PIP_NAMES = {
    "cv2": "opencv-python",
    "PIL": "pillow",
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
    "yaml": "pyyaml",
    "flash_attn": "flash-attn",
    "mamba_ssm": "mamba-ssm",
}

DOWNLOAD_FIX = (
    "Nothing is downloaded while a model is imported. Build the model from a configuration written in the "
    "file (random weights are enough), or download it beforehand; HF_HUB_OFFLINE=0 TRANSFORMERS_OFFLINE=0 "
    "in the environment allows Hugging Face downloads."
)


OUT_OF_MEMORY = ("DefaultCPUAllocator", "CUDA out of memory", "CUDA error: out of memory")


def first_line(error):
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return lines[0].strip() if lines else type(error).__name__


def chain(error):
    """The exception and everything it was raised from."""
    seen = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    return seen


def environment_error(error, where):
    """Failures that are not the model's fault and can strike at any stage; None for the rest."""
    for link in chain(error):
        if isinstance(link, TaskError):
            return link
        size = memory.asked_for(link)
        if size and size > memory.total():
            return TaskError(
                "too_large",
                f"a tensor needs about {memory.text(size)}; this machine has {memory.text(memory.total())}",
                where,
                "Use smaller sizes in the task (a smaller batch), or a machine with more memory.",
            )
        if isinstance(link, MemoryError) or any(phrase in str(link) for phrase in OUT_OF_MEMORY):
            return TaskError("memory", f"out of memory: {first_line(link)}", where, "Use a machine with more memory, or smaller sizes in the task.")
        if isinstance(link, OSError) and link.errno in (errno.ENOSPC, errno.EDQUOT):
            return TaskError("disk", f"the disk is full: {link}", where, "Free some space, or choose another output folder.")
    for link in chain(error):
        if _is_download(link):
            return TaskError("download", f"the model needs a download: {first_line(link)}", where, DOWNLOAD_FIX)
    for link in chain(error):
        if isinstance(link, ImportError):
            return _import_error(link, where)
    return None


def known_or_ours(error, kind, whose):
    """A TaskError of any exception: a failure of ours where it is no other."""
    report = f"This is a fault of StitchCUDA's {whose}; please report it with the task."
    return environment_error(error, "") or TaskError(kind, f"{type(error).__name__}: {first_line(error)}", "", report)


def _is_download(error):
    package = type(error).__module__.split(".")[0]
    if package in ("huggingface_hub", "requests", "httpx", "urllib3", "urllib", "socket"):
        return True
    text = str(error)
    return isinstance(error, OSError) and any(
        phrase in text
        for phrase in ("couldn't connect to", "offline mode", "cached files", "Name or service not known", "Temporary failure in name resolution")
    )


def _import_error(error, where):
    name = (error.name or "").split(".")[0]
    if isinstance(error, ModuleNotFoundError) and name:
        package = PIP_NAMES.get(name, name)
        return TaskError("module", f"the Python package '{name}' is not installed", where, f"pip install {package}")
    fix = f"Check the version of '{name}': pip install --upgrade {PIP_NAMES.get(name, name)}" if name else ""
    return TaskError("module", first_line(error), where, fix)
