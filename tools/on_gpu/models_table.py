#!/usr/bin/env python3
"""models_table.py TASKS.jsonl: what a run of `bench` on models found beside docs/results/models-h200.jsonl: times, and memory beside PyTorch's."""

import json
import math
import pathlib
import sys

RESULTS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/results/models-h200.jsonl"


def geomean(values):
    values = [value for value in values if value]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 0


def row_of(found, known):
    ours = found.get("seconds_a_call", 0) * 1e6
    memory = found.get("memory", {})
    times = [us for us in known.get("baselines_us", {}).values()] + [seconds * 1e6 for seconds in found.get("baselines", {}).values()]
    return {"model": found["task"].split("/")[-1], "right": bool(found.get("passed")), "us": ours, "best": min(times, default=0), "was": known.get("us", 0),
            "mb": memory.get("program_bytes", 0) / 1e6, "pytorch_mb": memory.get("pytorch_bytes", 0) / 1e6, "seconds": found.get("seconds", 0),
            "floor": found.get("floor_seconds", 0) * 1e6, "why": "" if found.get("passed") else found.get("reason", found.get("code", ""))}


def ratio(a, b):
    return a / b if a and b else 0


def main():
    known = {row["model"]: row for row in map(json.loads, RESULTS.read_text(encoding="utf-8").splitlines())}
    lines = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    rows = [row_of(found, known.get(found["task"].split("/")[-1], {})) for found in map(json.loads, lines)]
    print(f"{'model':40} {'us':>9} {'PyTorch':>9} {'':>6} {'was us':>9} {'':>6} {'floor':>6} {'MB':>8} {'PyTorch':>8} {'':>5}  {'s':>4}")
    for row in sorted(rows, key=lambda row: ratio(row["best"], row["us"])):
        share = ratio(row["mb"], row["pytorch_mb"])
        print(f"{row['model'][:40]:40} {row['us']:9.1f} {row['best']:9.1f} {ratio(row['best'], row['us']):5.2f}x {row['was']:9.1f} {ratio(row['us'], row['was']):6.3f} "
              f"{ratio(row['floor'], row['us']):6.2f} {row['mb']:8.1f} {row['pytorch_mb']:8.1f} {share:5.2f}{' ABOVE' if share > 1 else ''}  {row['seconds']:4.0f}"
              + ("" if row["right"] else f"  NOT RIGHT: {row['why']}"[:160].replace("\n", " ")))
    both = [ratio(row["mb"], row["pytorch_mb"]) for row in rows if row["mb"] and row["pytorch_mb"]]
    print(f"{len(rows)} models, {sum(row['right'] for row in rows)} right; {geomean(ratio(row['best'], row['us']) for row in rows):.3f}x of PyTorch's best; of the time "
          f"before: {geomean(ratio(row['us'], row['was']) for row in rows):.3f}; memory at most PyTorch's: {sum(share <= 1 for share in both)} of {len(both)}, {geomean(both):.2f} of it")


if __name__ == "__main__":
    main()
