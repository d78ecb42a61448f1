"""Where things are: the program that does the work, in this package once installed and in a checkout's build/ otherwise; the cache."""

import atexit
import functools
import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import warnings

from .errors import StitchError

PACKAGE = os.path.dirname(os.path.abspath(__file__))
CHECKOUT = os.path.dirname(os.path.dirname(PACKAGE))


def binary():
    told = os.environ.get("STITCHCUDA_BINARY")
    places = (
        [told]
        if told
        else [
            os.path.join(PACKAGE, "tool", "bin", "stitchcuda"),
            *(os.path.join(CHECKOUT, "build", kind, "stitchcuda") for kind in ("release", "dev", "wheel")),
        ]
    )
    for place in places:
        if os.access(place, os.X_OK) and os.path.isfile(place):
            return os.path.abspath(place)
    if told:
        raise StitchError(f"STITCHCUDA_BINARY is {told}, which is no program")
    raise StitchError("the stitchcuda program is not beside this package", "pip install . in StitchCUDA's checkout, or ./dev build release")


def is_installed():
    return binary().startswith(os.path.join(PACKAGE, "tool") + os.sep)


def emulator_compiler():
    folder = os.path.dirname(binary())
    for place in (os.path.join(folder, "stitch-compile-emulated"), os.path.join(folder, "..", "libexec", "stitchcuda", "stitch-compile-emulated")):
        if os.path.exists(place):
            return place
    raise StitchError(f"stitch-compile-emulated is not beside {binary()}", "install StitchCUDA again, whole")


def environment():
    """Of the program: this Python exports and answers as the reference."""
    out = dict(os.environ)
    out.setdefault("STITCHCUDA_PYTHON", sys.executable)
    if not is_installed() and os.path.isdir(os.path.join(CHECKOUT, "python", "stitchcuda_torch")):
        out.setdefault("STITCHCUDA_HOME", CHECKOUT)
    return out


def programs():
    """The folder of all programs that this package keeps."""
    return os.path.join(cache(), "python")


def cache():
    told = os.environ.get("STITCHCUDA_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "stitchcuda")
    return writable(told)


@functools.cache
def writable(folder):
    """The folder; where it can't be written to, one for as long as this process lives."""
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder):
            return folder
    except OSError as error:
        warnings.warn(
            f"cannot write to {folder} ({error.strerror}): programs are kept until this process ends; to keep them longer, set STITCHCUDA_CACHE",
            stacklevel=2,
        )
        temporary = tempfile.mkdtemp(prefix="stitchcuda-cache-")
        atexit.register(remove_by, os.getpid(), temporary)
        return temporary


def remove_by(process, folder):
    if os.getpid() == process:  # not a fork of it
        shutil.rmtree(folder, ignore_errors=True)


def _add_torch_side():
    """stitchcuda_torch, the package that the program runs: one copy for both."""
    if importlib.util.find_spec("stitchcuda_torch") is not None:
        return
    for place in (os.path.join(PACKAGE, "tool", "share", "stitchcuda", "python"), os.path.dirname(PACKAGE)):
        if os.path.isdir(os.path.join(place, "stitchcuda_torch")):
            sys.path.append(place)
            return
    raise ImportError("stitchcuda_torch is not beside the package stitchcuda: install StitchCUDA again, whole")


def _load_extension():
    name = "_call.abi3.so"
    places = [os.path.join(PACKAGE, "tool", "lib", name)]
    try:
        places.append(os.path.join(os.path.dirname(binary()), name))
    except StitchError:
        pass
    places += [os.path.join(CHECKOUT, "build", kind, name) for kind in ("release", "dev", "wheel")]
    for place in places:
        if os.path.exists(place):
            loader = importlib.machinery.ExtensionFileLoader("stitchcuda._call", place)
            module = importlib.util.module_from_spec(importlib.util.spec_from_loader("stitchcuda._call", loader))
            loader.exec_module(module)
            return module
    raise ImportError("stitchcuda's C extension (_call.abi3.so) was not built: it needs Python.h; install python3-dev and build again")


_add_torch_side()
_call = None


def extension():
    global _call
    if _call is None:
        _call = _load_extension()
    return _call


def main():
    """The console command."""
    try:
        path, variables = binary(), environment()
    except StitchError as error:
        sys.exit(f"stitchcuda: {error}")
    try:
        os.execve(path, [path, *sys.argv[1:]], variables)
    except OSError as error:
        sys.exit(f"stitchcuda: {path} cannot be run: {error.strerror}")


def run(words, timeout=None):
    """(exit code, stdout, stderr) of a command that takes no time worth showing."""
    done = subprocess.run([binary(), *words], env=environment(), capture_output=True, text=True, timeout=timeout)
    return done.returncode, done.stdout, done.stderr
