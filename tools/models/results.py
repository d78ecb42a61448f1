#!/usr/bin/env python3
"""Puts rows of `stitchcuda bench` into docs/results/models-h200.jsonl: results.py BENCH.jsonl… [--commit NAME]

A model that is there already gets its new row; PyTorch's times that this run didn't take stay. docs/figures.py then writes the page docs/models-on-h200.md.
"""

import argparse
import json
import pathlib

RESULTS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/results/models-h200.jsonl"


def row_of(found, commit):
    baselines = {name: round(seconds * 1e6, 1) for name, seconds in found.get("baselines", {}).items()}
    memory = found.get("memory", {})
    return {"model": found["task"].split("/")[-1], "passed": found["passed"], "us": round(found.get("seconds_a_call", 0) * 1e6, 1),
            "baselines_us": baselines, "program_mb": round(memory.get("program_bytes", 0) / 1e6, 1),
            "pytorch_mb": round(memory.get("pytorch_bytes", 0) / 1e6, 1), "seconds": round(found.get("seconds", 0)),
            "reason": "" if found["passed"] else found.get("reason", found.get("code", "")), "commit": commit}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--commit", default="")
    arguments = parser.parse_args()
    rows = {}
    if RESULTS.exists():
        rows = {row["model"]: row for row in map(json.loads, RESULTS.read_text(encoding="utf-8").splitlines())}
    for file in arguments.files:
        for line in file.read_text(encoding="utf-8").splitlines():
            row = row_of(json.loads(line), arguments.commit)
            row["baselines_us"] = {**rows.get(row["model"], {}).get("baselines_us", {}), **row["baselines_us"]}
            rows[row["model"]] = row
    draft = RESULTS.with_suffix(".draft")
    draft.write_text("".join(json.dumps(rows[name]) + "\n" for name in sorted(rows)), encoding="utf-8")
    draft.replace(RESULTS)
    print(f"{len(rows)} models in {RESULTS}")


if __name__ == "__main__":
    main()
