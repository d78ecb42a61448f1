#!/usr/bin/env python3
"""Writes the figures of the README and of docs/ from the results in docs/results/.

  docs/figures.py           rewrites what stands between the markers
  docs/figures.py --check   exits with 1 where that would change something

A marker names what stands below it: <!-- figures: NAME --> … <!-- /figures -->
"""

import argparse
import difflib
import json
import math
import pathlib
import re
import statistics
import sys

MARKED = re.compile(r"(<!-- figures: ([\w-]+) -->\n).*?(<!-- /figures -->)", re.DOTALL)
FILES = ["README.md", "docs/kernelbench-on-h200.md", "docs/kernelbench-on-h200-tasks.md", "docs/when-to-use-which.md", "docs/models-on-h200.md"]
LEVELS = (1, 2, 3)


def table(header, rows):
    lines = [header, ["---"] * len(header)] + rows
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines).replace("| --- ", "|---").replace("--- |", "---|")


def speedup(row):
    return row["best_pytorch_ms"] / row["ms"]


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


MODES = ("eager_ms", "eager_graph_ms", "compile_ms", "compile_graph_ms")


class Level:
    """A level's rows, and PyTorch's times in its four modes (None: that mode can't run the task), in the same order."""

    def __init__(self, rows, pytorch):
        self.rows = rows
        for row, times in zip(rows, pytorch, strict=True):
            best = min(times[mode] for mode in MODES if times[mode])
            if row["task"] != times["task"] or abs(best / row["best_pytorch_ms"] - 1) > 0.01:
                sys.exit(f"level {row['level']}, {row['task']}: its best PyTorch is not that of kernelbench-h200-pytorch.jsonl ({times})")
        self.over_eager, self.over_compile = ([times[mode] / row["ms"] for row, times in zip(rows, pytorch)] for mode in ("eager_ms", "compile_ms"))
        passed = [row for row in rows if row["verdict"] == "passed"]
        self.passed = len(passed)
        self.speedups = [speedup(row) for row in passed]
        self.faster = sum(one > 1 for one in self.speedups)
        self.ties = sum(0.99 <= one <= 1 for one in self.speedups)
        self.geomean = geometric_mean(self.speedups)
        self.slowest = min(passed, key=speedup)
        self.evaluated = [row["kernelbench"] for row in rows if "kernelbench" in row]
        self.accepted = sum(one["correct"] for one in self.evaluated)


def total(levels, count):
    return sum(count(row) for level in levels.values() for row in level.rows)


def is_newer(row):
    """A quick run keeps no errors: its programs are newer than the last run of every gate."""
    return row["error"] is None


def quick_text(levels):
    newer = total(levels, is_newer)
    return (
        f" {newer} programs are newer than the last run of all gates: they passed those of `--quick` (one seed, fewer gates) and have not "
        "been through all of them yet."
        if newer
        else ""
    )


# As their authors report them; others' GPUs, tolerances and baselines.
PUBLISHED = [
    ("[KernelPro](https://arxiv.org/abs/2606.26453), 2026: baseline and GPU not named", (2.42, 4.69, 5.30)),
    ("[CUDA Agent](https://arxiv.org/abs/2602.24286), 2026, over torch.compile, H20", (1.87, 2.80, 1.52)),
]


def summary(levels):
    """The README's first screen."""
    each = list(levels.values())
    tasks = sum(len(level.rows) for level in each)
    beaten = sum(one > 1 for level in each for one in level.over_compile)
    faster, ties = sum(level.faster for level in each), sum(level.ties for level in each)
    newer, changed = total(levels, is_newer), total(levels, lambda row: row["changed_since"])
    ours = [
        ("over eager", [level.over_eager for level in each]),
        ("over torch.compile", [level.over_compile for level in each]),
        ("over the fastest of eager, torch.compile, and both in CUDA graphs", [level.speedups for level in each]),
    ]
    rows = [[f"**StitchCUDA**, {name}", *(f"**{geometric_mean(one):.2f}x**" for one in of_levels)] for name, of_levels in ours]
    rows += [[name, *(f"{one:.2f}x" for one in of_levels)] for name, of_levels in PUBLISHED]
    made = table(["speedup, geometric mean", *(f"Level {number} ({len(level.rows)} tasks)" for number, level in levels.items())], rows)
    slower = f"{tasks - beaten} are not faster than torch.compile" if beaten < tasks else "Every task is faster than torch.compile"
    return made + (
        f"\n{slower}; {faster} of {tasks} are faster than the fastest of the four modes, {ties} within 1 % of it.\n\n"
        f"**How sure.** All times are of the first plan, untuned, in the numerics class `default`, by CUDA events. Of the programs that were timed, {tasks - newer} passed "
        f"every gate of the Verifier and {newer} those of `--quick` (one seed, fewer gates). For {changed} tasks the program has changed since it was timed.\n"
    )


def evaluator_line(rows, levels):
    """KernelBench's own evaluator, of programs that were made for it."""
    by_default = ", ".join(
        f"{level.accepted} of the {len(level.evaluated)} Level {number} programs of class `default`"
        for number, level in levels.items()
        if level.evaluated
    )
    return (
        f"KernelBench's own evaluator compares with PyTorch's TF32 results instead of float64: it accepts {sum(row['correct'] for row in rows)} of {len(rows)} "
        f"programs made for it with `--compat kernelbench`, and {by_default}; the other default programs were not given to it "
        "([why they differ](docs/kernelbench-on-h200.md#kernelbenchs-own-evaluator)).\n"
    )


def faster_text(level):
    slower = len(level.speedups) - level.faster - level.ties
    return f"{level.faster}" + (f", and {level.ties} within 1 %" if level.ties else "") + (f", {slower} slower" if slower else "")


def levels_table(levels):
    rows = []
    for number, level in levels.items():
        seconds = [row["seconds"] for row in level.rows]
        slowest = speedup(level.slowest)
        rows.append(
            [
                number,
                f"{level.passed} of {len(level.rows)}",
                f"{geometric_mean(level.over_eager):.2f}x",
                f"{geometric_mean(level.over_compile):.2f}x",
                faster_text(level),
                f"{level.geomean:.2f}x",
                f"{level.slowest['task'].split('_')[0]} ({slowest:#.3g}x)",
                f"{math.ceil(statistics.median(seconds))}, {max(seconds)}",
            ]
        )
    made = table(
        [
            "level",
            "passed",
            "geomean over eager",
            "over torch.compile",
            "faster than the best PyTorch",
            "geomean over it",
            "slowest",
            "seconds per task, median and most",
        ],
        rows,
    )
    made += f"\n{quick_text(levels).strip()}\n" if quick_text(levels) else ""
    changed = sum(row["changed_since"] for level in levels.values() for row in level.rows)
    if changed:
        made += (
            f"\n{changed} tasks have programs that changed after their time was taken, marked § in the "
            "[table of all tasks](kernelbench-on-h200-tasks.md).\n"
        )
    by_wall = ", ".join(f"{geometric_mean([row['best_pytorch_ms'] / row['wall_ms'] for row in level.rows]):.2f}x" for level in levels.values())
    made += (
        "\nSpeedups compare CUDA event times on both sides. Our wall time over PyTorch's event time, which counts a call's "
        f"host overhead on our side only: {by_wall}.\n"
    )
    for number, level in levels.items():
        if level.evaluated:
            made += (
                f"\nKernelBench's own evaluator accepts {level.accepted} of {len(level.evaluated)} programs of Level {number} "
                "made in class `default`, and was not run on the other levels' programs of that class. Programs made for it "
                "(`--compat kernelbench`) are [a separate measurement](#kernelbenchs-own-evaluator).\n"
            )
    return made


def memory_table(levels):
    """Memory of a call over PyTorch's peak, of the tasks where it was measured."""
    rows = []
    for number, level in levels.items():
        shares = [row["percent_of_memory"] for row in level.rows if row["percent_of_memory"] is not None]
        more = sum(one > 110 for one in shares)
        rows.append(
            [
                number,
                f"{len(shares)} of {len(level.rows)}",
                sum(one <= 100 for one in shares),
                sum(100 < one <= 110 for one in shares),
                more,
                f"{statistics.median(shares):.0f} %",
            ]
        )
    return table(["level", "measured", "at most PyTorch's peak", "up to 10 % more", "over 10 % more", "median"], rows)


def steps_text(levels):
    """Which programs were left with less than every step."""
    kept = {}
    for number, level in levels.items():
        for row in level.rows:
            kept.setdefault(row["steps"], []).append(f"Level {number} task {row['task'].split('_')[0]}")
    made = f"{len(kept.pop('every step', []))} programs ship with every step of their plan. The others:\n\n"
    return made + table(["what is left", "tasks"], [[steps, ", ".join(tasks)] for steps, tasks in sorted(kept.items())])


def beside_pytorch(levels):
    """A sentence for the page that compares with others."""
    each = ", ".join(f"{level.geomean:.2f}x on Level {number}" for number, level in levels.items())
    return f"StitchCUDA's programs over the best of those four modes: {each} (geometric means; [every task](kernelbench-on-h200-tasks.md)).\n"


def percent(value):
    return "–" if value is None else f"{value} %"


def error_text(value):
    return "–" if value is None else f"{value:.1e}"


def tf32_text(row):
    if not isinstance(row["tf32_ms"], float):
        return row["tf32_ms"] or "–"
    return f"{row['tf32_ms']:.4g}, {row['best_pytorch_ms'] / row['tf32_ms']:.2f}x"


def kernelbench_text(answer):
    return f"correct, {answer['ms']:.3g} ms" if answer["correct"] else f"differs by {answer['difference']}"


def tasks_table(level):
    mark = {"last run": "", "earlier run": " †", "quick run": " ‡"}
    header = [
        "task",
        "wall ms",
        "ms by events",
        "best PyTorch",
        "speedup",
        "class tf32",
        "% of limit",
        "memory vs PyTorch",
        "error",
        "PyTorch's",
        "seconds",
        "steps",
    ]
    rows = []
    for row in level.rows:
        rows.append(
            [
                row["task"] + mark[row["times_from"]] + (" §" if row["changed_since"] else ""),
                f"{row['wall_ms']:.4g}",
                f"{row['ms']:.4g}",
                f"{row['best_pytorch_ms']:.4g}",
                f"{speedup(row):.2f}x",
                tf32_text(row),
                percent(row["percent_of_limit"]),
                percent(row["percent_of_memory"]),
                error_text(row["error"]),
                error_text(row["pytorch_error"]),
                row["seconds"],
                row["steps"],
            ]
        )
        if level.evaluated:
            rows[-1].append(kernelbench_text(row["kernelbench"]))
    return table(header + (["KernelBench"] if level.evaluated else []), rows)


HALVES = ("_fp16", "_bf16")


def model_speedup(row):
    return min(row["baselines_us"].values()) / row["us"]


def models_summary(rows):
    made = []
    for name, chosen in (
        ("FP32", [r for r in rows if not r["model"].endswith(HALVES)]),
        ("fp16 and bf16", [r for r in rows if r["model"].endswith(HALVES)]),
    ):
        right = [row for row in chosen if row["passed"]]
        speedups = [model_speedup(row) for row in right]
        memory = [row for row in right if row["program_mb"] and row["pytorch_mb"]]
        made.append(
            [
                name,
                f"{len(right)} of {len(chosen)}",
                sum(one >= 1 for one in speedups),
                f"{geometric_mean(speedups):.2f}x",
                f"{min(speedups):.2f}x",
                f"{sum(r['program_mb'] <= r['pytorch_mb'] for r in memory)} of {len(memory)}",
                f"{statistics.median(r['seconds'] for r in chosen):.0f}, {max(r['seconds'] for r in chosen)}",
            ]
        )
    return table(
        ["models", "correct (quick gates)", "not slower", "geomean", "slowest", "no more memory than PyTorch", "seconds, median and most"], made
    )


def models_line(rows):
    """One line of the README."""
    right = [row for row in rows if row["passed"]]
    half = [model_speedup(row) for row in right if row["model"].endswith(HALVES)]
    single = [model_speedup(row) for row in right if not row["model"].endswith(HALVES)]
    return (
        f"{len(right)} of {len(rows)} models of torchvision, timm, transformers, diffusers and our own pass the quick gates; over the faster of eager and torch.compile, "
        f"both in a CUDA graph, {geometric_mean(single):.2f}x in FP32 and {geometric_mean(half):.2f}x in fp16 and bf16 ([every model](docs/models-on-h200.md)).\n"
    )


def models_table(rows):
    made = []
    for row in sorted(rows, key=lambda r: r["model"]):
        best = min(row["baselines_us"], key=row["baselines_us"].get) if row["baselines_us"] else ""
        if row["passed"]:
            made.append(
                [
                    row["model"],
                    f"{row['us']:.0f}",
                    f"{row['baselines_us'][best]:.0f} ({best})",
                    f"{model_speedup(row):.2f}x",
                    f"{row['program_mb']:.0f}, {row['pytorch_mb']:.0f}",
                    row["seconds"],
                    row["commit"],
                ]
            )
        else:
            made.append([row["model"], "–", "", row["reason"][:80], "", row["seconds"], row["commit"]])
    return table(["model", "us per call", "best PyTorch", "speedup", "MB, PyTorch's", "seconds", "commit"], made)


def figures(root):
    lines = (root / "docs/results/kernelbench-h200.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    pytorch = [json.loads(line) for line in (root / "docs/results/kernelbench-h200-pytorch.jsonl").read_text(encoding="utf-8").splitlines()]
    levels = {number: Level(*([row for row in both if row["level"] == number] for both in (rows, pytorch))) for number in LEVELS}
    evaluator = [json.loads(line) for line in (root / "docs/results/evaluator-h200.jsonl").read_text(encoding="utf-8").splitlines()]
    made = {
        "evaluator-line": evaluator_line(evaluator, levels),
        "kernelbench-summary": summary(levels),
        "kernelbench-levels": levels_table(levels),
        "kernelbench-memory": memory_table(levels),
        "kernelbench-steps": steps_text(levels),
        "beside-pytorch": beside_pytorch(levels),
    }
    for number, level in levels.items():
        made[f"kernelbench-level-{number}"] = tasks_table(level)
    models = (root / "docs/results/models-h200.jsonl").read_text(encoding="utf-8").splitlines()
    models = [json.loads(line) for line in models]
    made.update({"models-summary": models_summary(models), "models-table": models_table(models), "models-line": models_line(models)})
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    arguments = parser.parse_args()
    made, used, stale = figures(arguments.root), set(), False
    for name in FILES:
        path = arguments.root / name
        before = path.read_text(encoding="utf-8")
        used.update(found[1] for found in MARKED.findall(before))
        after = MARKED.sub(lambda found: found[1] + made[found[2]] + found[3], before)
        if after == before:
            continue
        stale = True
        if arguments.check:
            sides = before.splitlines(True), after.splitlines(True)
            sys.stdout.writelines(difflib.unified_diff(*sides, name, name, n=0))
        else:
            path.write_text(after, encoding="utf-8")
    if missing := set(made) - used:
        sys.exit(f"no marker for: {', '.join(sorted(missing))}")
    if stale and arguments.check:
        sys.exit("these figures are not those of docs/results: run docs/figures.py")


if __name__ == "__main__":
    main()
