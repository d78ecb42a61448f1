#!/usr/bin/env python3
"""Puts rows of `stitchcuda bench --quick --known-baselines` into docs/results/kernelbench-h200.jsonl:

    tools/kernelbench_results.py BENCH.jsonl… && docs/figures.py

A task that passed and was timed gets its new times and memory, marked as a quick run's; its errors, which such a run doesn't
keep, become unknown. PyTorch's times and what KernelBench's evaluator said of an earlier program stay.
"""

import argparse
import json
import pathlib

RESULTS = pathlib.Path(__file__).resolve().parent.parent / "docs/results/kernelbench-h200.jsonl"


def steps_of(found):
    kept = [step["step"] for step in found.get("steps", []) if step.get("kept")]
    return "every step" if not kept or kept[-1] == "all steps" else kept[-1]


def updated(row, found):
    milliseconds, memory = found["event_seconds_a_call"] * 1e3, found.get("memory", {})
    share = memory.get("program_bytes", 0) / memory["pytorch_bytes"] if memory.get("pytorch_bytes") else None
    return {**row, "times_from": "quick run", "changed_since": False, "wall_ms": float(f"{found['seconds_a_call'] * 1e3:.4g}"),
            "ms": float(f"{milliseconds:.4g}"), "percent_of_limit": round(100 * found["floor_seconds"] / found["event_seconds_a_call"]),
            "percent_of_memory": round(100 * share) if share else row["percent_of_memory"], "error": None, "pytorch_error": None,
            "seconds": round(found["seconds"]), "steps": steps_of(found)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    rows = {f"level{row['level']}/{row['task']}": row for row in map(json.loads, RESULTS.read_text(encoding="utf-8").splitlines())}
    changed = set()
    for file in parser.parse_args().files:
        for found in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            # Names are cut off somewhere in old records.
            name = next((name for name in rows if name == found["task"] or found["task"].startswith(name.rstrip("_"))), None)
            if name and found.get("passed") and "event_seconds_a_call" in found:
                rows[name] = updated(rows[name], found)
                changed.add(name)
    draft = RESULTS.with_suffix(".draft")
    draft.write_text("".join(json.dumps(row) + "\n" for row in rows.values()), encoding="utf-8")
    draft.replace(RESULTS)
    print(f"{len(changed)} of {len(rows)} tasks have new times")


if __name__ == "__main__":
    main()
