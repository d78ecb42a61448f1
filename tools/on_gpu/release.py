#!/usr/bin/env python3
"""Measures what a release says of itself, on a bare GPU machine that may be gone at any second: release.py OUT [--seconds 1700]

Steps run in the order of STEPS, each once; a second call with the same OUT continues where the first was cut off. OUT has
the results, a log a step, done.jsonl, and is packed into OUT.tgz every minute, small enough to be copied back.
--only NAME,… runs these steps alone, again if they are done; --dry-run says what would run.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import shlex
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKED_EVERY = 60
NOT_PACKED = ("*.o", "*.so", "*.safetensors", "*.bin", "build")
CUT_OFF = (124, 130, 137)


@dataclasses.dataclass(frozen=True)
class Step:
    """The command is Bash, in the checkout's root, with the variables of `environment` below."""

    name: str
    command: str
    seconds: int  # on an H200 with 16 cores
    writes: str
    continues: bool = False  # cut off, it goes on in a second call; others begin anew, and only with time for all of it


KERNELBENCH_BENCH = "$TOOL bench $(python3 tools/on_gpu/results.py tasks $ORDER)"
MODELS_BENCH = "python3 tools/models/make_tasks.py -o $OUT/tasks >/dev/null && python3 tools/on_gpu/results.py known models >$OUT/known_models.jsonl && " \
               "PYTHONPATH=$SITE $TOOL bench $(python3 tools/on_gpu/results.py models $LIST --tasks $OUT/tasks)"
CANDIDATES = "{ [ -x build/release/verify_test ] || { cmake -DSTITCHCUDA_TESTS=ON build/release && ninja -C build/release verify_test; }; } && " \
             "STITCHCUDA_TEST_DEVICE=$DEVICE STITCHCUDA_CHEATS=all build/release/verify_test --gtest_filter='*Candidates*'"
MUTANT_TASKS = "attention batch_norm classifier conv_norm cross_entropy layer_norm lstm masked_attention norm_gelu pooling product recurrence softmax scatter unit_rows"

STEPS = (
    Step("build", "[ -x $TOOL ] || tools/on_gpu/build.sh stitchcuda-mutants", 110, "build/release", continues=True),
    # Without this a first call once cost seven minutes of a GPU: an honest candidate is judged, a small model optimised.
    Step("try", "$TOOL verify src/verify/testdata/candidates/honest.cu --task src/verify/testdata/row_center/graph --device $DEVICE --baselines none && "
                "$TOOL optimize examples/mlp.py -o $OUT/mlp --device $DEVICE --quick --no-tune --budget 1 --no-timing --force --store none", 8, "mlp/"),
    Step("kernelbench", "python3 tools/on_gpu/results.py known >$OUT/known.jsonl && "
                        f"{KERNELBENCH_BENCH} -o $OUT/kernelbench --jobs ${{JOBS:-14}} --known-baselines $OUT/known.jsonl $FLAGS; "
                        "python3 tools/on_gpu/results.py show $OUT/kernelbench/tasks.jsonl", 2200, "kernelbench/tasks.jsonl", continues=True),
    Step("models", f"{MODELS_BENCH} -o $OUT/models --eval --jobs ${{JOBS:-12}} --known-baselines $OUT/known_models.jsonl $FLAGS; "
                   "python3 tools/on_gpu/results.py show $OUT/models/tasks.jsonl", 950, "models/tasks.jsonl", continues=True),
    # Judged as soon as a program is there. Programs that were made elsewhere (evaluator_programs.py) take 62 s: README.md.
    Step("evaluator", f"{KERNELBENCH_BENCH} -o $OUT/evaluator --jobs ${{JOBS:-11}} --compat kernelbench --no-tune --quick --no-timing --budget 1 "
                      ">$OUT/evaluator_bench.log 2>&1 & "
                      "python3 tools/kernelbench_evaluator.py .kernelbench $OUT/evaluator -o $OUT/evaluator.jsonl --jobs ${JUDGES:-4} --draw-on-gpu "
                      "--time-limit ${TIME_LIMIT:-60} --ways reversed,search,channels_last --follow $! ", 750, "evaluator.jsonl", continues=True),
    Step("candidates", CANDIDATES, 800, "candidates.log"),
    Step("mutants", f"build/release/stitchcuda-mutants $(for one in {MUTANT_TASKS}; do echo src/verify/testdata/tasks/$one/graph; done) -o $OUT/mutants "
                    "--each 14 --most 210 --device $DEVICE --variants optimised --jobs 16 --seconds $LEFT", 400, "mutants/", continues=True),
    Step("bottlenecks", "ninja -C build/release known-bottlenecks && build/release/known-bottlenecks --out $OUT/known_bottlenecks.json", 60, "known_bottlenecks.json"),
    Step("calls", "python3 tools/call_overhead.py --compile --jobs 12", 120, "calls.log"),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=1700, help="of this call (default: 1700)")
    parser.add_argument("--only", default="", help=f"some of {', '.join(step.name for step in STEPS)}, separated by commas")
    parser.add_argument("--order", default="", help="KernelBench tasks: a file with \"LEVEL NUMBER\" a line, or 'changed' (default: all, Level 3 first)")
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
            print(f"{step.name}: {step.seconds} s{', continues' if step.continues else ''}, {step.writes}\n    {step.command}")
        elif left < (10 if step.continues else step.seconds):
            print(f"{step.name}: no time for it ({left:.0f} of {step.seconds} s are left)", flush=True)
        elif run(step, options, int(left)) and step.name in ("build", "try"):
            raise SystemExit(1)  # nothing else would work


def finished(out):
    try:
        lines = (out / "done.jsonl").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return set()
    return {record["step"] for record in map(json.loads, lines) if record["code"] not in CUT_OFF and not (record["step"] in ("build", "try") and record["code"])}


def environment(options, left):
    lender = ROOT / "build/lender"  # build.sh: the socket of the process that imports PyTorch once
    out = dict(os.environ, OUT=str(options.out.resolve()), TOOL=options.tool, DEVICE=options.device, ORDER=options.order, LIST=options.list,
               FLAGS=options.flags, LEFT=str(left), STITCHCUDA_STORE="none", SITE=os.environ.get("SITE", ""))
    if lender.exists() and lender.stat().st_size:
        out["STITCHCUDA_TORCH_LENDER"] = lender.read_text(encoding="utf-8").strip()
    return out


def run(step, options, left):
    log, begin = options.out / f"{step.name}.log", time.monotonic()
    variables = environment(options, left - 8)
    if step.name == "models":  # its bench has a lender of its own, with the libraries of these tasks
        variables.pop("STITCHCUDA_TORCH_LENDER", None)
    with open(log, "a", encoding="utf-8") as file:
        process = subprocess.Popen(["timeout", "-k", "4", "-s", "INT", str(left), "bash", "-c", step.command], cwd=ROOT, stdout=file,
                                   stderr=subprocess.STDOUT, env=variables, start_new_session=True)
        while True:
            try:
                code = process.wait(PACKED_EVERY)
                break
            except subprocess.TimeoutExpired:
                pack(options.out)
    end_session(process.pid)
    record = {"step": step.name, "code": code, "seconds": round(time.monotonic() - begin), "command": shlex.join(["bash", "-c", step.command])}
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
