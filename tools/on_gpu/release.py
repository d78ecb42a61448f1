#!/usr/bin/env python3
"""Measures what a release says of itself, on a bare GPU machine that may be gone at any second: release.py OUT [--seconds 1700]

Steps run in the order of STEPS, each once; a second call with the same OUT continues where the first was cut off. OUT has
the results, a log a step, done.jsonl, and is packed into OUT.tgz every minute, small enough to be copied back.
--only NAME,… runs these steps alone, again if they are done; --dry-run says what would run.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKED_EVERY = 60
NOT_PACKED = ("*.o", "*.so", "*.safetensors", "*.bin", "build")
CUT_OFF = (124, 130, 137)
NEEDED = ("build", "try")  # nothing else would work


class Step(typing.NamedTuple):
    """A function of steps.sh."""

    name: str
    seconds: int  # on an H200 with 16 cores
    writes: str
    continues: bool  # cut off, it goes on in a second call; others begin anew, and only with time for all of it


STEPS = (
    Step("build", 110, "build/release", True),
    Step("try", 8, "mlp/", False),
    Step("kernelbench", 2200, "kernelbench/tasks.jsonl", True),
    Step("models", 950, "models/tasks.jsonl", True),
    Step("evaluator", 750, "evaluator.jsonl", True),
    Step("candidates", 800, "candidates.log", False),
    Step("mutants", 400, "mutants/", True),
    Step("bottlenecks", 60, "known_bottlenecks.json", False),
    Step("calls", 120, "calls.log", False),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=1700, help="of this call (default: 1700)")
    parser.add_argument("--only", default="", help=f"some of {', '.join(step.name for step in STEPS)}, separated by commas")
    parser.add_argument(
        "--order", default="", help="KernelBench tasks: a file with \"LEVEL NUMBER\" a line, or 'changed' (default: all, Level 3 first)"
    )
    parser.add_argument("--list", default="", help="models: a file with a name or a task's path a line (default: those of docs/results)")
    parser.add_argument("--flags", default="", help="for the benches of kernelbench and models, such as '--quick --no-tune'")
    parser.add_argument("--tool", default="build/release/stitchcuda")
    parser.add_argument("--device", default="cuda", help="of try, candidates and mutants; 'emulated' tries this script")
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args()
    only = [name for name in options.only.split(",") if name]
    unknown = set(only) - {step.name for step in STEPS}
    if unknown:
        parser.error(f"no step is named {unknown.pop()}")
    options.out.mkdir(parents=True, exist_ok=True)
    done = finished(options.out)
    ends = time.monotonic() + options.seconds
    for step in STEPS:
        if step.name not in only if only else step.name in done:
            continue
        left = ends - time.monotonic()
        if options.dry_run:
            print(f"{step.name}: {step.seconds} s{', continues' if step.continues else ''}, {step.writes}")
        elif left < (10 if step.continues else step.seconds):
            print(f"{step.name}: no time for it ({left:.0f} of {step.seconds} s are left)", flush=True)
        elif run(step, options, int(left)) and step.name in NEEDED:
            raise SystemExit(1)


def finished(out):
    file = out / "done.jsonl"
    records = map(json.loads, file.read_text(encoding="utf-8").splitlines()) if file.exists() else ()
    return {one["step"] for one in records if one["code"] == 0 or one["code"] not in CUT_OFF and one["step"] not in NEEDED}


def environment(options, left):
    lender = ROOT / "build/lender"  # build.sh: the socket of the process that imports PyTorch once
    out = {"SITE": "", **os.environ, "OUT": str(options.out.resolve()), "LEFT": str(left), "STITCHCUDA_STORE": "none"}
    out |= {name.upper(): getattr(options, name) for name in ("tool", "device", "order", "list", "flags")}
    if lender.exists() and lender.stat().st_size:
        out["STITCHCUDA_TORCH_LENDER"] = lender.read_text(encoding="utf-8").strip()
    return out


def run(step, options, left):
    log, begin = options.out / f"{step.name}.log", time.monotonic()
    variables = environment(options, left - 8)
    if step.name == "models":  # its bench has a lender of its own, with the libraries of these tasks
        variables.pop("STITCHCUDA_TORCH_LENDER", None)
    command = ["timeout", "-k", "4", "-s", "INT", str(left), "tools/on_gpu/steps.sh", step.name]
    with open(log, "a", encoding="utf-8") as file:
        process = subprocess.Popen(command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, env=variables, start_new_session=True)
        while True:
            try:
                code = process.wait(PACKED_EVERY)
                break
            except subprocess.TimeoutExpired:
                pack(options.out)
    end_session(process.pid)
    record = {"step": step.name, "code": code, "seconds": round(time.monotonic() - begin)}
    with open(options.out / "done.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
    tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-3:]
    print(f"{step.name}: exit code {code} after {record['seconds']} s\n    " + "\n    ".join(line[:200] for line in tail), flush=True)
    pack(options.out)
    return code


def end_session(session):
    """What a bench that was killed left behind holds the GPU's memory. The lender has a session of its own."""
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(status.read_text().rpartition(")")[2].split()[3]) == session:
                os.kill(int(status.parent.name), signal.SIGKILL)
        except (OSError, ValueError, IndexError):
            continue  # it has ended


def pack(out):
    """OUT.tgz is whole at any time."""
    with tempfile.TemporaryDirectory(dir=out.resolve().parent) as folder:
        draft = os.path.join(folder, "draft")
        subprocess.run(["tar", "-C", str(out), *(f"--exclude={one}" for one in NOT_PACKED), "-czf", draft, "."], capture_output=True, check=False)
        os.replace(draft, f"{out}.tgz")


if __name__ == "__main__":
    main()
