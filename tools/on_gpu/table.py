#!/usr/bin/env python3
"""table.py TASKS.jsonl: what a run of `bench` on KernelBench found beside docs/results, and the levels' geomeans with it."""

import collections
import json
import math
import pathlib
import sys

RESULTS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/results/kernelbench-h200.jsonl"


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 0


def main():
    rows = {f"level{row['level']}/{row['task']}": row for row in map(json.loads, RESULTS.read_text(encoding="utf-8").splitlines())}
    best = {name: row["ms"] for name, row in rows.items()}
    seen = []
    for line in pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").splitlines():
        found = json.loads(line)
        name = next((name for name in rows if name == found["task"] or found["task"].startswith(name.rstrip("_"))), None)
        milliseconds = found.get("event_seconds_a_call", 0) * 1e3
        if name and found.get("passed") and milliseconds:
            best[name] = milliseconds
        seen.append((milliseconds / rows[name]["ms"] if name and milliseconds else 0, found, name, milliseconds))
    for ratio, found, name, milliseconds in sorted(seen, key=lambda one: one[0]):
        steps = [step["step"] for step in found.get("steps", []) if step.get("kept")]
        what = "" if found.get("passed") else f"  NOT RIGHT: {found.get('reason', found.get('code', ''))}"[:140]
        print(f"{found['task'][:44]:44} {milliseconds:9.4f} ms {rows[name]['ms'] if name else 0:9.4f} was {ratio:6.3f}  "
              f"{rows[name]['best_pytorch_ms'] / milliseconds if milliseconds else 0:6.2f}x  {found.get('seconds', 0):5.0f} s  {','.join(steps)[:24]}{what}")
    levels = collections.defaultdict(list)
    for name, row in rows.items():
        levels[row["level"]].append(row["best_pytorch_ms"] / best[name])
    print(f"{len(seen)} tasks, {sum(bool(found.get('passed')) for _, found, _, _ in seen)} right; of the time before: "
          f"{geomean([ratio for ratio, _, _, _ in seen if ratio]):.3f}; with them: " + ", ".join(f"{geomean(levels[level]):.3f}x" for level in sorted(levels)))


if __name__ == "__main__":
    main()
