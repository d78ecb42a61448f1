#!/usr/bin/env python3
"""What runs of `bench` found, and docs/results:

results.py known [models]              PyTorch's times of docs/results, for `bench --known-baselines`
results.py tasks [ORDER|changed]       KernelBench's task files: those that ORDER lists ("LEVEL NUMBER" a line), those whose
                                       programs have changed since they were timed, or all, Level 3 first
results.py models [LIST] --tasks DIR   task files of the models that LIST names (or their paths), or of all that are in docs/results
results.py show TASKS.jsonl            a table of a run beside docs/results, of KernelBench or of models
results.py record FILE.jsonl… [--commit NAME]    puts the rows of such a run, or of kernelbench_evaluator.py, into docs/results;
                                       then docs/figures.py
"""

import argparse
import collections
import json
import math
import pathlib

RESULTS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/results"
CHECKOUT = pathlib.Path(".kernelbench/KernelBench")
ROW_OF = {"kernelbench": "kernelbench-h200.jsonl", "models": "models-h200.jsonl"}
MODES = ("eager_ms", "eager_graph_ms", "compile_ms", "compile_graph_ms")


def read(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]


def rows_of(kind):
    return read(RESULTS / ROW_OF[kind])


def write(kind, rows):
    draft = (RESULTS / ROW_OF[kind]).with_suffix(".draft")
    draft.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    draft.replace(RESULTS / ROW_OF[kind])


def known(kind):
    if kind == "models":
        for row in rows_of("models"):
            print(json.dumps({"task": row["model"], "baselines": {name: us * 1e-6 for name, us in row["baselines_us"].items()}}))
        return
    for row in rows_of("kernelbench"):
        times = {mode: row[mode] for mode in MODES if row[mode]}
        print(json.dumps({"level": row["level"], "name": row["task"], **times}))


def tasks(order):
    if order == "changed":
        rows = sorted((row for row in rows_of("kernelbench") if row["changed_since"]), key=lambda row: -(row["ms"] or 0))
        wanted = [(str(row["level"]), row["task"].split("_")[0]) for row in rows]
    elif order:
        wanted = [line.split() for line in pathlib.Path(order).read_text(encoding="utf-8").splitlines() if line.strip()]
    else:
        wanted = [(str(level), row["task"].split("_")[0]) for level in (3, 2, 1) for row in rows_of("kernelbench") if row["level"] == level]
    for level, number in wanted:
        print(*CHECKOUT.glob(f"level{level}/{number}_*.py"), sep="\n")


def models(names, folder):
    lines = pathlib.Path(names).read_text(encoding="utf-8").splitlines() if names else [row["model"] for row in rows_of("models")]
    for name in filter(None, (line.partition("#")[0].strip() for line in lines)):
        print(name if name.endswith(".py") else pathlib.Path(folder) / f"{name}.py")


def task_of(found, names):
    """Names are cut off somewhere in old records."""
    return next((name for name in names if name == found["task"] or found["task"].startswith(name.rstrip("_"))), None)


def geomean(values):
    values = [value for value in values if value]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 0


def best_pytorch(row):
    return min((row[mode] for mode in MODES if row.get(mode)), default=0)


def ratio(a, b):
    return a / b if a and b else 0


def kept(found):
    return [step["step"] for step in found.get("steps", []) if step.get("kept")]


def megabytes(found):
    """(the program's, PyTorch's)"""
    return tuple(found.get("memory", {}).get(side, 0) / 1e6 for side in ("program_bytes", "pytorch_bytes"))


def refused(found):
    return "" if found.get("passed") else f"  NOT RIGHT: {found.get('reason', found.get('code', ''))}"[:150].replace("\n", " ")


def of_kernelbench(records):
    return any(record["task"].startswith("level") for record in records)


def show_kernelbench(records):
    rows = {f"level{row['level']}/{row['task']}": row for row in rows_of("kernelbench")}
    best = {name: row["ms"] for name, row in rows.items()}
    seen = []
    for found in records:
        name, milliseconds = task_of(found, rows), found.get("event_seconds_a_call", 0) * 1e3
        if name and found.get("passed") and milliseconds:
            best[name] = milliseconds
        seen.append((ratio(milliseconds, rows[name]["ms"]) if name else 0, found, rows.get(name, {}), milliseconds))
    for before, found, row, milliseconds in sorted(seen, key=lambda one: one[0]):
        print(
            f"{found['task'][:44]:44} {milliseconds:9.4f} ms {row.get('ms', 0):9.4f} was {before:6.3f}  "
            f"{ratio(best_pytorch(row), milliseconds):6.2f}x  {found.get('seconds', 0):5.0f} s  {','.join(kept(found))[:24]}{refused(found)}"
        )
    levels = collections.defaultdict(list)
    for name, row in rows.items():
        levels[row["level"]].append(best_pytorch(row) / best[name])
    print(
        f"{len(seen)} tasks, {sum(bool(found.get('passed')) for _, found, _, _ in seen)} right; of the time before: "
        f"{geomean(one[0] for one in seen):.3f}; with them: " + ", ".join(f"{geomean(levels[level]):.3f}x" for level in sorted(levels))
    )


def show_models(records):
    before, rows = {row["model"]: row for row in rows_of("models")}, []
    for found in records:
        was, us = before.get(found["task"].split("/")[-1], {}), found.get("seconds_a_call", 0) * 1e6
        best = min([*was.get("baselines_us", {}).values(), *(seconds * 1e6 for seconds in found.get("baselines", {}).values())], default=0)
        rows.append((ratio(best, us), us, best, was.get("us", 0), *megabytes(found), found))
    print(f"{'model':40} {'us':>9} {'PyTorch':>9} {'':>6} {'was us':>9} {'':>6} {'MB':>8} {'PyTorch':>8} {'':>5}  {'s':>4}")
    for speedup, us, best, was, mb, pytorch_mb, found in sorted(rows, key=lambda row: row[0]):
        share = ratio(mb, pytorch_mb)
        print(
            f"{found['task'].split('/')[-1][:40]:40} {us:9.1f} {best:9.1f} {speedup:5.2f}x {was:9.1f} {ratio(us, was):6.3f} {mb:8.1f} {pytorch_mb:8.1f} "
            f"{share:5.2f}{' ABOVE' if share > 1 else ''}  {found.get('seconds', 0):4.0f}{refused(found)}"
        )
    shares = [ratio(row[4], row[5]) for row in rows if row[4] and row[5]]
    print(
        f"{len(rows)} models, {sum(bool(row[6].get('passed')) for row in rows)} right; {geomean(row[0] for row in rows):.3f}x of PyTorch's best; of the time "
        f"before: {geomean(ratio(row[1], row[3]) for row in rows):.3f}; memory at most PyTorch's: {sum(share <= 1 for share in shares)} of {len(shares)}, "
        f"{geomean(shares):.2f} of it"
    )


def record_kernelbench(records, commit, quick):
    """New times and memory; errors, which a run doesn't keep, become unknown. PyTorch's times and what KernelBench's evaluator said of an
    earlier program stay."""
    rows, changed = {f"level{row['level']}/{row['task']}": row for row in rows_of("kernelbench")}, set()
    for found in records:
        name = task_of(found, rows)
        if not name or not found.get("passed") or "event_seconds_a_call" not in found:
            continue
        seconds, share, steps = found["event_seconds_a_call"], ratio(*megabytes(found)), kept(found)
        rows[name] = {
            **rows[name],
            "times_from": "quick run" if quick else "default mode",
            "commit": commit,
            "changed_since": False,
            "wall_ms": float(f"{found['seconds_a_call'] * 1e3:.4g}"),
            "ms": float(f"{seconds * 1e3:.4g}"),
            "percent_of_limit": round(100 * found["floor_seconds"] / seconds),
            "percent_of_memory": round(100 * share) if share else rows[name]["percent_of_memory"],
            "error": None,
            "pytorch_error": None,
            "seconds": round(found["seconds"]),
            "steps": "every step" if not steps or {"all steps", "whole plan"} & set(steps) else steps[-1],
        }
        changed.add(name)
    write("kernelbench", rows.values())
    return f"{len(changed)} of {len(rows)} tasks have new times"


def record_evaluator(records):
    rows = {f"level{row['level']}/{row['task']}": row for row in rows_of("kernelbench")}
    for found in records:
        said = {key: found[key] for key in ("correct", "largest", "metadata", "pytorch") if found.get(key) is not None}
        rows[task_of({"task": found["name"]}, rows)]["compat"] = said
    write("kernelbench", rows.values())
    return f"{len(records)} of {len(rows)} tasks have a new answer of KernelBench's evaluator"


def record_models(records, commit):
    """A new row for each; PyTorch's times that this run didn't take stay."""
    rows = {row["model"]: row for row in rows_of("models")}
    for found in records:
        name, (program_mb, pytorch_mb) = found["task"].split("/")[-1], megabytes(found)
        baselines = {mode: round(seconds * 1e6, 1) for mode, seconds in found.get("baselines", {}).items()}
        rows[name] = {
            "model": name,
            "passed": found["passed"],
            "us": round(found.get("seconds_a_call", 0) * 1e6, 1),
            "baselines_us": {**rows.get(name, {}).get("baselines_us", {}), **baselines},
            "program_mb": round(program_mb, 1),
            "pytorch_mb": round(pytorch_mb, 1),
            "seconds": round(found.get("seconds", 0)),
            "reason": "" if found["passed"] else found.get("reason", found.get("code", "")),
            "commit": commit,
        }
    write("models", [rows[name] for name in sorted(rows)])
    return f"{len(rows)} models in {ROW_OF['models']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("known", "tasks", "models", "show", "record"))
    parser.add_argument("what", nargs="*")
    parser.add_argument("--tasks", default="tasks", help="folder of the models' task files")
    parser.add_argument("--commit", default="", help="kept with the rows")
    parser.add_argument("--quick", action="store_true", help="the run was a quick one")
    options = parser.parse_args()
    first = options.what[0] if options.what else ""
    if options.command == "known":
        known(first)
    elif options.command == "tasks":
        tasks(first)
    elif options.command == "models":
        models(first, options.tasks)
    for file in options.what if options.command in ("show", "record") else ():
        records = read(file)
        if options.command == "show":
            show_kernelbench(records) if of_kernelbench(records) else show_models(records)
        elif any("correct" in record for record in records):
            print(record_evaluator(records))
        else:
            print(record_kernelbench(records, options.commit, options.quick) if of_kernelbench(records) else record_models(records, options.commit))


if __name__ == "__main__":
    main()
