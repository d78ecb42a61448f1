"""Every candidate of src/verify/testdata before the Verifier, and whether it gets the verdict that its first line names.

    python3 tools/candidates_table.py build/release/stitchcuda --device cuda --jobs 14 --seconds 180

Needs no test executable: for machines without GoogleTest. Prints those that differ, then all of them, then where the seconds went;
exit code 1 if one differs. Those that are not reached in time are named. PyTorch is imported once for all references, and candidates of
both kinds take turns, so that compilers and imports share the machine.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HOME = pathlib.Path(__file__).resolve().parent.parent
TESTDATA = HOME / "src/verify/testdata"


def first_lines(path):
    return path.read_text(encoding="utf-8").splitlines()[:2]


def expected(path, cuda):
    """As candidates_test.cpp reads them."""
    line = re.split(r"\(\./dev cheats\)|\"\"\"|—", first_lines(path)[0][3:])[0]
    everywhere, on_cuda, gate = [], [], ""
    for part in line.split("|"):
        one = part.strip()
        its = on_cuda if one.endswith(" on cuda") else everywhere
        one = one.removesuffix(" on cuda")
        if ":" in one:
            gate = one[:one.index(":") + 2]
        elif one != "passed":
            one = gate + one
        its.append(one)
    return on_cuda if cuda and on_cuda else everywhere


def said(path, what):
    """"# WHAT: value" among a Python candidate's first lines."""
    for line in path.read_text(encoding="utf-8").splitlines()[1:4]:
        if line.startswith(f"# {what}: "):
            return line.removeprefix(f"# {what}: ")
    return None


def task_of(path):
    if path.suffix == ".py":
        name = said(path, "task")
        return TESTDATA / (f"tasks/{name}" if name else "row_center") / "task.py"
    line = first_lines(path)[1]
    if not line.startswith("// task: "):
        return TESTDATA / "row_center/graph"
    task = TESTDATA / "tasks" / line.removeprefix("// task: ")
    return task if task.suffix == ".py" else task / "graph"


def judge(tool, path, device, until):
    if time.monotonic() > until:
        return path, "not reached", "", {}
    begin = time.monotonic()
    command = [tool, "verify", str(path), "--task", str(task_of(path)), "--device", device, "--baselines", "none", "--time-limit",
               "60" if path.suffix == ".py" else "10", "--json", "--numerics", (path.suffix == ".py" and said(path, "class")) or "default"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace",
                             timeout=max(1.0, until + 15 - time.monotonic()))
        verdict = json.loads(ran.stdout)
    except subprocess.TimeoutExpired:
        return path, "not reached", "", {}
    except ValueError:
        return path, "no verdict", ran.stderr[-200:].replace("\n", " "), {}
    seconds = {gate["gate"]: (gate.get("seconds", 0), gate.get("waited", 0)) for gate in verdict.get("gates", [])}
    seconds["all"] = time.monotonic() - begin, 0
    if verdict.get("verdict") == "passed":
        return path, "passed", "", seconds
    if verdict.get("verdict") == "not judged" or "error" in verdict:
        error = verdict.get("error", verdict)
        return path, "not judged", f"{error.get('code')}: {error.get('message', error.get('reason'))}", seconds
    return path, f"{verdict.get('gate')}: {verdict.get('code')}", verdict.get("reason", ""), seconds


@contextlib.contextmanager
def lent_torch(python):
    """One import of PyTorch for all who export tasks and answer for them; without, each imports it."""
    with tempfile.TemporaryDirectory() as folder:
        socket = os.path.join(folder, "socket")
        environment = {**os.environ, "PYTHONPATH": str(HOME / "python")}
        with subprocess.Popen([python, "-m", "stitchcuda_torch.lend", socket], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as lender:
            try:
                if lender.stdout.readline().strip() == "ready":
                    os.environ["STITCHCUDA_TORCH_LENDER"] = socket
                yield
            finally:
                lender.kill()


def by_turns(files):
    """Of both kinds, in the order of their names."""
    kinds = [sorted((path for path in files if path.suffix == suffix), key=lambda path: path.stem) for suffix in (".cu", ".py")]
    return [path for pair in itertools.zip_longest(*kinds) for path in pair if path is not None]


def seconds_in_words(seconds):
    total = collections.Counter()
    for one in seconds:
        for gate, (took, waited) in one.items():
            total[gate] += took
            total["waited for the GPU"] += waited
    return ", ".join(f"{gate} {took:.0f} s" for gate, took in total.most_common() if took >= 0.5)


def main():
    parser = argparse.ArgumentParser(description="The candidates' verdicts as a table.")
    parser.add_argument("tool", help="the stitchcuda to ask")
    parser.add_argument("--device", default="emulated", choices=("emulated", "cuda"))
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--python", default=os.environ.get("STITCHCUDA_PYTHON") or sys.executable, help="one with PyTorch")
    parser.add_argument("--seconds", type=float, default=600, help="none is begun after this")
    parser.add_argument("--only", default="", help="names that contain this")
    parser.add_argument("--first", type=pathlib.Path, help="a file with names, one a line: these before the others")
    arguments = parser.parse_args()
    urgent = arguments.first.read_text(encoding="utf-8").split() if arguments.first else []
    files = [path for folder, suffix in (("candidates", "cu"), ("model_new_cheats", "py")) for path in (TESTDATA / folder).glob("*." + suffix)]
    files = by_turns([path for path in files if arguments.only in path.stem])
    files.sort(key=lambda path: path.name not in urgent)
    until = time.monotonic() + arguments.seconds
    results, differ, missing, spent, begin = [], 0, 0, [], time.monotonic()
    with lent_torch(arguments.python), concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        asked = [pool.submit(judge, arguments.tool, path, arguments.device, until) for path in files]
        for done in concurrent.futures.as_completed(asked):  # said at once: whoever is cut off has seen the rest
            path, got, reason, seconds = done.result()
            results.append((path, got))
            spent.append(seconds)
            wanted = expected(path, arguments.device == "cuda")
            missing += got == "not reached"
            if got not in wanted and got != "not reached":
                differ += 1
                print(f"DIFFERS {path.name}: {got}, not {' or '.join(wanted)}: {reason[:240]}", flush=True)
    print(", ".join(f"{path.stem}={got}" for path, got in sorted(results)))
    print(f"{time.monotonic() - begin:.0f} s; of all jobs together: {seconds_in_words(spent)}")
    print(f"{len(results)} candidates, {len(results) - differ - missing} as expected, {differ} differ, {missing} not reached")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
