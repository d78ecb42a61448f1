#!/usr/bin/env python3
"""known.py [models]: PyTorch's times of docs/results (kernelbench-h200-pytorch.jsonl, or models-h200.jsonl) as lines for `bench --known-baselines`."""

import json
import pathlib
import sys

RESULTS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/results"


def rows(name):
    return map(json.loads, (RESULTS / name).read_text(encoding="utf-8").splitlines())


if sys.argv[1:] == ["models"]:
    for row in rows("models-h200.jsonl"):
        print(json.dumps({"task": row["model"], "baselines": {kind: us * 1e-6 for kind, us in row["baselines_us"].items()}}))
else:
    for row in rows("kernelbench-h200-pytorch.jsonl"):
        times = {mode: time for mode, time in row.items() if mode.endswith("_ms") and time}
        print(json.dumps({"level": row["level"], "name": row["task"], **times}))
