#!/usr/bin/env python3
"""changed.py: KernelBench's tasks whose programs have changed since their time was taken (docs/results, `changed_since`), as kernelbench.sh
reads them: "LEVEL NUMBER" a line, the slowest first."""

import json
import pathlib

RESULTS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/results/kernelbench-h200.jsonl"

rows = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
for row in sorted((row for row in rows if row.get("changed_since")), key=lambda row: -(row.get("ms") or 0)):
    print(row["level"], row["task"].split("_")[0])
