#!/usr/bin/env python3
"""Holds the import and the oracle against PyTorch in float64 over many cases that no test knows.

    python tools/models/sweep.py --out /tmp/sweep                      all families
    python tools/models/sweep.py --out /tmp/sweep ops --filter linalg  a part of one
    python tools/models/sweep.py --out /tmp/sweep --checkout ../other  another checkout's import and oracle
    python tools/models/sweep.py --out /tmp/sweep tasks --tasks FOLDER task files (tools/models/from_tests.py)

The family ops needs the package expecttest, as PyTorch's own tests do. Every case is exported and answered by PyTorch in a process of its own, then import_test lowers it and runs the oracle.
A case agrees, is refused (with a reason that names what is missing), or is wrong. It is not a test: it takes minutes.
Known to be wrong: language.causal_afmoe, by 9.9e-2.
"""

import argparse
import collections
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CASES = os.path.join(ROOT, "src/import/testdata/sweep")
FAMILIES = ("ops", "edges", "modules", "vision", "language")
SECONDS = 120  # for one case


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", choices=[*FAMILIES, "tasks", []], help=f"of {', '.join(FAMILIES)} (default: all)")
    parser.add_argument("--out", required=True, help="folder for the cases and results.json")
    parser.add_argument("--checkout", default=ROOT, help="the checkout whose Python and import_test are used (default: this one)")
    parser.add_argument("--tasks", help="for the family tasks: the folder of task files")
    parser.add_argument("--checker", help="import_test (default: build/dev/import_test of the checkout)")
    parser.add_argument("--filter", default="", help="only cases whose name matches this regular expression")
    parser.add_argument("--samples", type=int, default=3, help="maximum cases per operator (default: 3)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", choices=("wrong", "refused", "all"), default="all", help="which cases are listed")
    options = parser.parse_args()
    checker = options.checker or os.path.join(options.checkout, "build/dev/import_test")
    if "tasks" in options.families and not options.tasks:
        parser.error("the family tasks needs --tasks FOLDER")
    if not os.path.exists(checker):
        parser.error(f"there is no {checker}: build the target import_test, or name one with --checker")
    sys.path.insert(0, os.path.join(options.checkout, "python"))
    sys.path.insert(0, CASES)
    cases = os.path.join(options.out, "cases")
    os.makedirs(cases, exist_ok=True)

    results = make_all(options, cases)
    results.update(check_all(checker, cases, [name for name, outcome in results.items() if outcome is None]))
    with open(os.path.join(options.out, "results.json"), "w") as file:
        json.dump(results, file, indent=1)
    report(results, options.show)


def make_all(options, folder):
    from stitchcuda_torch.cases.__main__ import in_workers
    results, begin = {}, time.monotonic()
    for name, outcome in in_workers(work, (options, folder), options.jobs, lambda code: ("worker", ("wrong", f"exit code {code}: cases are missing"))):
        results[name] = outcome
        if outcome:
            print(f"{outcome[0]:8} {name}: {outcome[1][:300]}", file=sys.stderr, flush=True)
        if len(results) % 100 == 0:
            print(f"{len(results)} cases made in {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    return results


class TooLong(Exception):
    pass


def work(options, folder, shard, shards, send):
    import torch
    from stitchcuda_torch.base import protocol
    from stitchcuda_torch.base.errors import TaskError
    from stitchcuda_torch.cases.case import make
    torch.set_num_threads(1)
    protocol.quiet_libraries()

    # The first export loads half of PyTorch, which no case should be charged for.
    torch.export.export(torch.nn.Identity(), (torch.zeros(1),), strict=False)

    def late(signum, frame):
        raise TooLong

    signal.signal(signal.SIGALRM, late)
    number = 0
    for family in options.families or FAMILIES:
        module = importlib.import_module(family)
        for name, build in module.cases(options.tasks if family == "tasks" else options.samples):
            name = f"{family}.{name}"
            if options.filter and not re.search(options.filter, name):
                continue
            number += 1
            if number % shards != shard:
                continue
            place = os.path.join(folder, name)
            os.makedirs(place, exist_ok=True)
            signal.alarm(SECONDS)
            try:
                torch.manual_seed(7)
                make(build(), name, os.path.join(CASES, f"{family}.py"), place)
                outcome = None
            except TaskError as error:
                # A case that PyTorch itself refuses is invalid.
                late_in_export = isinstance(error.__cause__, TooLong)
                outcome = ("skipped", "making it takes too long") if late_in_export else (
                    "refused", f"{error.kind}: {error.message}" + (f" ({error.where})" if error.where else ""))
            except TooLong:
                outcome = ("skipped", "making it takes too long")
            except Exception as error:
                outcome = ("skipped", f"PyTorch: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
            signal.alarm(0)
            send((name, outcome))


# Checking: import_test walks the folder; what it says of a case is sorted by its words.

WRONG = re.compile(r"(: relative error|: element \d+ is|shape \[[^ ]*\] instead of|floating-point instead|has another shape|is missing|"
                   r"outputs instead of|changes something PyTorch does not|does not parse back)")
BUG = re.compile(r"(\w\.(cpp|h):\d+|invalid graph|lowered to|basic_string|vector::|map::at|std::|bad_alloc)")


def check_all(checker, folder, names):
    environment = dict(os.environ, STITCHCUDA_CASES=folder)
    outcomes = {}
    todo = set(names)
    run = subprocess.run([checker, "--gtest_filter=TorchCases.*"], env=environment, capture_output=True, text=True, errors="replace")
    if run.returncode < 0:  # one case kills it: all alone, then
        for name in sorted(todo):
            alone = subprocess.run([checker, "--gtest_filter=TorchCases.*"], env=dict(environment, STITCHCUDA_CASE=name),
                                   capture_output=True, text=True, errors="replace")
            outcomes[name] = ("wrong", f"crash: signal {-alone.returncode}") if alone.returncode < 0 else failures(alone.stdout).get(name)
    else:
        found = failures(run.stdout)
        outcomes = {name: found.get(name) for name in todo}
    return {name: outcome or ("agrees", "") for name, outcome in outcomes.items()}


def failures(text):
    found = {}
    for block in re.split(r"^.*Failure$", text, flags=re.MULTILINE)[1:]:
        match = re.search(r"^Failed\n(\S+?): (.*?)(?=\n\n|\n *\d+ \w+\n|\n\S*\[ |\Z)", block, re.MULTILINE | re.DOTALL)
        if match:
            message = " ".join(match[2].split())
            found[match[1]] = (judged(message), message)
    return found


def judged(message):
    return "wrong" if WRONG.search(message) or BUG.search(message) else "refused"


def report(results, show):
    table = collections.defaultdict(collections.Counter)
    for name, (outcome, reason) in sorted(results.items()):
        table[name.split(".")[0]][outcome] += 1
        if outcome in ("wrong", "refused", "skipped") and (show in (outcome, "all")):
            print(f"{outcome:8} {name}: {reason[:220]}")
    print(f"\n{'':10} {'agree':>7} {'refused':>8} {'wrong':>6} {'skipped':>8}")
    for family in [*table, "all"]:
        counts = sum(table.values(), collections.Counter()) if family == "all" else table[family]
        print(f"{family:10} {counts['agrees']:7} {counts['refused']:8} {counts['wrong']:6} {counts['skipped']:8}")


if __name__ == "__main__":
    main()
