"""Runs the optimizer on a task and leaves a program's folder."""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import threading

from . import tool
from .errors import StitchError, error_of
from .folder import RECORD


def search(task, out, *, device, gpu, numerics, budget, quick, options, show):
    """The program's folder `out`, which must not be there yet. Ctrl-C ends the search and keeps the best program."""
    words = ["optimize", task, "-o", out, "--json", "--device", device, "--numerics", numerics, "--budget", str(int(budget))]
    words += ["--gpu", gpu] if gpu else []
    words += ["--quick"] if quick else []
    code, text, errors = run([*words, *options], show)
    try:
        result = json.loads(text)
    except ValueError:
        raise StitchError(f"the optimizer ended with code {code}: {errors.strip()[-1000:]}") from None
    if "error" in result:
        raise error_of(result["error"], "the optimizer failed")
    if result["verdict"]["verdict"] != "passed":
        verdict = result["verdict"]
        raise StitchError(
            f"no program passed: {verdict.get('gate')}: {verdict.get('reason')}", "please report this with the model; until then use PyTorch"
        )
    keep_library(result, out, device)
    for name in ("weights.safetensors", "model_new.py"):  # of one model, and the program is for all of this graph
        if os.path.exists(os.path.join(out, name)):
            os.remove(os.path.join(out, name))
    record = {**result, "device": device, "budget": budget, "quick": quick, "numerics": numerics, "architecture": architecture_of(out)}
    record.pop("library", None)
    with open(os.path.join(out, RECORD), "w") as file:
        json.dump(record, file, indent=1)
    return out


def architecture_of(out):
    with open(os.path.join(out, "manifest.json")) as file:
        return json.load(file).get("architecture", "")


def keep_library(result, out, device):
    """The library that was judged, beside its sources: what was measured is what is called."""
    library = result.get("library", "")
    name = "libprogram.so" if device == "cuda" else "emulated.so"
    target = os.path.join(out, "build", name)
    if library and os.path.exists(library) and not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(library, target)


_libc = ctypes.CDLL(None)


def end_with_parent():
    """Whatever ends this process, the search must not go on without it."""
    _libc.prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


INTERRUPTED = "interrupted: finishing the best program so far (once more to give up)"


def run(words, show):
    process = subprocess.Popen(
        [tool.binary(), *words],
        env={**tool.environment(), "STITCHCUDA_CACHE": tool.cache(), "STITCHCUDA_PROGRESS": "json"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,  # Ctrl-C is passed on below, once
        preexec_fn=end_with_parent,
    )
    said, lines, out = ["starting"], [], []

    def listen():
        for line in process.stderr:
            try:
                state = json.loads(line)
                detail = " ".join(str(state[key]) for key in ("progress", "detail") if state.get(key))
                said[0] = detail
            except (ValueError, TypeError, KeyError):
                lines.append(line)

    threads = [threading.Thread(target=listen, daemon=True), threading.Thread(target=lambda: out.append(process.stdout.read()), daemon=True)]
    for thread in threads:
        thread.start()
    interrupts = 0
    try:
        while True:
            try:
                show(INTERRUPTED if interrupts else said[0])
                process.wait(0.5)
                break
            except subprocess.TimeoutExpired:
                continue
            except KeyboardInterrupt:
                interrupts += 1
                if interrupts > 1:
                    raise
                process.send_signal(signal.SIGINT)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for thread in threads:
            thread.join()
        process.stdout.close()
        process.stderr.close()
    return process.returncode, out[0], "".join(lines)
