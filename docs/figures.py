#!/usr/bin/env python3
"""Writes the figures of the README and of docs/ from the results in docs/results/, lists from the sources, and docs/cheats.md.

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

import cheats

MARKED = re.compile(r"(<!-- figures: ([\w-]+) -->\n).*?(<!-- /figures -->)", re.DOTALL)
FILES = ["README.md", "docs/results.md", "docs/results-tables.md", "docs/when-to-use-which.md", "docs/gpus-and-ops.md"]
LEVELS = (1, 2, 3)


def table(header, rows, space=" "):
    head, *body = (f"|{space}" + f"{space}|{space}".join(map(str, line)) + f"{space}|\n" for line in [header, *rows])
    return head + "|" + "---|" * len(header) + "\n" + "".join(body)


def columns(rows, space=" "):
    """Of rows {heading: cell}. Where there are hundreds: without space."""
    return table(list(rows[0]), [row.values() for row in rows], space)


def rows_of(root, name):
    return [json.loads(line) for line in (root / f"docs/results/{name}.jsonl").read_text(encoding="utf-8").splitlines()]


MODES = ("eager_ms", "eager_graph_ms", "compile_ms", "compile_graph_ms")  # PyTorch's; None: that mode can't run the task


def best_pytorch(row):
    return min(row[mode] for mode in MODES if row[mode])


def speedup(row):
    return best_pytorch(row) / row["ms"]


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


class Level:
    def __init__(self, rows):
        self.rows = rows
        self.over_eager, self.over_compile = ([row[mode] / row["ms"] for row in rows] for mode in ("eager_ms", "compile_ms"))
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


def is_default(row):
    return row["times_from"] == "default mode"


def is_newer(row):
    """A quick run keeps no errors: its programs are newer than the last run of every gate."""
    return row["error"] is None and not is_default(row)


def quick_text(levels):
    newer = total(levels, is_newer)
    text = f"{newer} programs are newer than the last run of all gates: they passed those of `--quick` (one seed, fewer gates) and have not "
    return f"\n{text}been through all of them yet.\n" if newer else ""


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
    default, newer, changed = total(levels, is_default), total(levels, is_newer), total(levels, lambda row: row["changed_since"])
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
        f"**How sure.** {default} programs are what the default mode makes: every gate of the Verifier, a budget of 40 s. The others are first plans of earlier runs, "
        f"untuned: {tasks - newer - default} passed every gate and {newer} those of `--quick` (one seed, fewer gates). For {changed} tasks the program has changed "
        "since it was timed. Numerics class `default`; times by CUDA events.\n"
    )


def evaluator_line(levels):
    """KernelBench's own evaluator, of programs that were made for it."""
    compat = [row["compat"]["correct"] for level in levels.values() for row in level.rows]
    by_default = ", ".join(
        f"{level.accepted} of the {len(level.evaluated)} Level {number} programs of class `default`"
        for number, level in levels.items()
        if level.evaluated
    )
    return (
        f"KernelBench's own evaluator compares with PyTorch's TF32 results instead of float64: it accepts {sum(compat)} of {len(compat)} "
        f"programs made for it with `--compat kernelbench`, and {by_default}; the other default programs were not given to it "
        "([why they differ](docs/results.md#kernelbenchs-own-evaluator)).\n"
    )


def faster_text(level):
    slower = len(level.speedups) - level.faster - level.ties
    return f"{level.faster}" + (f", and {level.ties} within 1 %" if level.ties else "") + (f", {slower} slower" if slower else "")


def levels_table(levels):
    rows = []
    for number, level in levels.items():
        seconds = [row["seconds"] for row in level.rows]
        rows.append(
            {
                "level": number,
                "passed": f"{level.passed} of {len(level.rows)}",
                "geomean over eager": f"{geometric_mean(level.over_eager):.2f}x",
                "over torch.compile": f"{geometric_mean(level.over_compile):.2f}x",
                "faster than the best PyTorch": faster_text(level),
                "geomean over it": f"{level.geomean:.2f}x",
                "slowest": f"{level.slowest['task'].split('_')[0]} ({speedup(level.slowest):#.3g}x)",
                "seconds per task, median and most": f"{math.ceil(statistics.median(seconds))}, {max(seconds)}",
            }
        )
    made = columns(rows) + quick_text(levels)
    if changed := total(levels, lambda row: row["changed_since"]):
        made += f"\n{changed} tasks have programs that changed after their time was taken, marked § in the [table of all tasks](results-tables.md).\n"
    by_wall = ", ".join(f"{geometric_mean([best_pytorch(row) / row['wall_ms'] for row in level.rows]):.2f}x" for level in levels.values())
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
        rows.append(
            {
                "level": number,
                "measured": f"{len(shares)} of {len(level.rows)}",
                "at most PyTorch's peak": sum(one <= 100 for one in shares),
                "up to 10 % more": sum(100 < one <= 110 for one in shares),
                "over 10 % more": sum(one > 110 for one in shares),
                "median": f"{statistics.median(shares):.0f} %",
            }
        )
    return columns(rows)


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
    return f"StitchCUDA's programs over the best of those four modes: {each} (geometric means; [every task](results-tables.md)).\n"


def percent(value):
    return "–" if value is None else f"{value} %"


def tasks_table(level):
    """The results have more: wall times, errors, seconds, class tf32."""
    mark = {"default mode": "", "last run": " †", "earlier run": " †", "quick run": " ‡"}
    rows = [
        {
            "task": row["task"] + mark[row["times_from"]] + (" §" if row["changed_since"] else ""),
            "ms": f"{row['ms']:.4g}",
            "best PyTorch": f"{best_pytorch(row):.4g}",
            "speedup": f"{speedup(row):.2f}x",
            "of the limit": percent(row["percent_of_limit"]),
            "of PyTorch's memory": percent(row["percent_of_memory"]),
        }
        for row in level.rows
    ]
    return columns(rows, space="")


def by_precision(rows):
    """(those in FP32, those in fp16 and bf16)"""
    halves = [row["model"].endswith(("_fp16", "_bf16")) for row in rows]
    return [row for row, half in zip(rows, halves) if not half], [row for row, half in zip(rows, halves) if half]


def model_speedup(row):
    return min(row["baselines_us"].values()) / row["us"]


def models_summary(rows):
    made = []
    for name, chosen in zip(("FP32", "fp16 and bf16"), by_precision(rows)):
        right = [row for row in chosen if row["passed"]]
        speedups = [model_speedup(row) for row in right]
        memory = [row for row in right if row["program_mb"] and row["pytorch_mb"]]
        made.append(
            {
                "models": name,
                "correct (quick gates)": f"{len(right)} of {len(chosen)}",
                "not slower": sum(one >= 1 for one in speedups),
                "geomean": f"{geometric_mean(speedups):.2f}x",
                "slowest": f"{min(speedups):.2f}x",
                "no more memory than PyTorch": f"{sum(r['program_mb'] <= r['pytorch_mb'] for r in memory)} of {len(memory)}",
                "seconds, median and most": f"{statistics.median(r['seconds'] for r in chosen):.0f}, {max(r['seconds'] for r in chosen)}",
            }
        )
    return columns(made)


def models_line(rows):
    """One line of the README."""
    right = [row for row in rows if row["passed"]]
    single, half = (geometric_mean(map(model_speedup, chosen)) for chosen in by_precision(right))
    return (
        f"{len(right)} of {len(rows)} models of torchvision, timm, transformers, diffusers and our own pass the quick gates; over the faster of eager and torch.compile, "
        f"both in a CUDA graph, {single:.2f}x in FP32 and {half:.2f}x in fp16 and bf16 ([every model](docs/results-tables.md#every-model)).\n"
    )


def models_table(rows):
    made = []
    for row in sorted(rows, key=lambda r: r["model"]):
        if row["passed"]:
            memory = f"{row['program_mb'] / row['pytorch_mb']:.2f}" if row["pytorch_mb"] else "–"
            best = min(row["baselines_us"].values())
            made.append([row["model"], f"{row['us']:.0f}", f"{best:.0f}", f"{model_speedup(row):.2f}x", memory])
        else:
            made.append([row["model"], "–", "", row["reason"][:80], ""])
    return table(["model", "us", "best PyTorch", "speedup", "of PyTorch's memory"], made, space="")


def gpus_table(root):
    gpus = json.loads((root / "src/gpu/gpus.json").read_text(encoding="utf-8"))["gpus"]
    rows = [
        {
            "`--gpu`": gpu["name"],
            "compute capability": gpu["compute_capability"],
            "memory, GB": gpu["memory_gb"],
            "bandwidth, GB/s": gpu["bandwidth_gbps"],
            "rates": "measured" if "measured" in gpu else "data sheet",
        }
        for gpu in gpus
    ]
    return columns(sorted(rows, key=lambda row: tuple(map(int, row["compute capability"].split(".")))))


def ops_table(root):
    """The graph's, in the groups of its enumeration."""
    enumeration = re.search(r"enum class Op[^{]*\{(.*?)\};", (root / "src/graph/op.h").read_text(encoding="utf-8"), re.DOTALL)[1]
    groups = re.findall(r"// (.*?)\.\n(.*?)(?=//|\Z)", enumeration, re.DOTALL)
    return table(["kind", "ops"], [[kind, ", ".join(re.findall(r"\w+", ops))] for kind, ops in groups])


def refused_table(root):
    """Operators that are refused with advice, by what to write instead."""
    text = (root / "src/import/aten/unknown.cpp").read_text(encoding="utf-8")
    constants = {name: value for name, value in re.findall(r'constexpr const char\* (\w+)\s*=\s*"(.*?)";', text, re.DOTALL)}
    by_advice = {}
    for name, advice in re.findall(r'\{"([\w.]+)",\s*((?:"[^"]*"\s*)+|\w+)\}', text):
        advice = "".join(re.findall(r'"([^"]*)"', advice)) or constants[advice]
        by_advice.setdefault(advice, []).append(name.removeprefix("aten.").rstrip("."))
    return table(["operators", "instead"], [[", ".join(f"`{name}`" for name in names), advice] for advice, names in by_advice.items()])


def figures(root):
    rows = rows_of(root, "kernelbench-h200")
    levels = {number: Level([row for row in rows if row["level"] == number]) for number in LEVELS}
    models = rows_of(root, "models-h200")
    return {
        "evaluator-line": evaluator_line(levels),
        "kernelbench-summary": summary(levels),
        "kernelbench-levels": levels_table(levels),
        "kernelbench-memory": memory_table(levels),
        "kernelbench-steps": steps_text(levels),
        "beside-pytorch": beside_pytorch(levels),
        **{f"kernelbench-level-{number}": tasks_table(level) for number, level in levels.items()},
        "models-summary": models_summary(models),
        "models-table": models_table(models),
        "models-line": models_line(models),
        "gpus": gpus_table(root),
        "ops": ops_table(root),
        "refused": refused_table(root),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    arguments = parser.parse_args()
    made, used, stale = figures(arguments.root), set(), False
    for name in [*FILES, "docs/cheats.md"]:
        path = arguments.root / name
        before = path.read_text(encoding="utf-8")
        used.update(found[1] for found in MARKED.findall(before))
        after = MARKED.sub(lambda found: found[1] + made[found[2]] + found[3], before) if name in FILES else cheats.page(arguments.root)
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
        sys.exit("these figures are not those of docs/results and of the sources: run docs/figures.py")


if __name__ == "__main__":
    main()
