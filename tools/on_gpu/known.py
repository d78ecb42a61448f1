#!/usr/bin/env python3
"""PyTorch's best times of docs/results/kernelbench-h200.jsonl as lines for `bench --known-baselines`."""

import json
import pathlib

RESULTS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/results/kernelbench-h200.jsonl"

for row in map(json.loads, RESULTS.read_text(encoding="utf-8").splitlines()):
    print(json.dumps({"level": row["level"], "name": row["task"], "compile_graph_ms": row["best_pytorch_ms"]}))
