#!/usr/bin/env python3
"""learning_table.py NAME=ANSWERS.jsonl… [--rows ROWS.jsonl]: the table of an experiment, from what `train evaluate` wrote.

Several files of one NAME are seeds of one arm. Intervals: 95 %, by 2,000 bootstraps over tasks (and seeds). With --rows,
tasks whose structure (operators in order) no training row has are counted apart, too. Where arms share tasks, the
last block compares each with the first one, task by task.
"""

import argparse
import collections
import json
import math
import random
import sys


def structure(line):
    return line["provenance"].split(": ", 1)[-1]


def level(line):
    count = len(structure(line).split())
    return "1 operator" if count <= 1 else "2 to 3" if count <= 3 else "4 and more"


def right(line):
    return line["label"].startswith("correct")


def pass_at(k, lines):
    n, c = len(lines), sum(map(right, lines))
    return math.nan if n < k else 1.0 - math.comb(n - c, k) / math.comb(n, k)


def fast(lines):
    """Of a row that was timed: is its first right answer as fast as the known one?"""
    if all(line["seconds"] is None for line in lines):
        return math.nan
    return float(any(line["seconds"] and 0 < line["seconds"][0] <= line["seconds"][1] for line in lines))


def share(lines, what):
    return sum(map(what, lines)) / len(lines) if lines else math.nan


def is_repair(lines):
    return lines[0]["skill"] == "from feedback" and not lines[0]["before"].startswith("correct")


# Of the answers to one question; nan: not asked there.
METRICS = {
    "pass@1": lambda lines: share(lines, right),
    "pass@8": lambda lines: pass_at(8, lines),
    "fast_1": fast,
    "repaired": lambda lines: share(lines, right) if is_repair(lines) else math.nan,
    "improved": lambda lines: (
        math.nan if lines[0]["skill"] != "from feedback" or is_repair(lines) else share(lines, lambda each: each["reward"] > 0.15)
    ),
    "unchanged": lambda lines: share(lines, lambda each: each["unchanged"]) if lines[0]["skill"] == "from feedback" else math.nan,
    "hack": lambda lines: share(lines, lambda each: each["label"] == "hack"),
    "not built": lambda lines: share(lines, lambda each: each["label"] == "not built"),
    "reward": lambda lines: share(lines, lambda each: each["reward"]),
    "tokens": lambda lines: share(lines, lambda each: each["tokens"]),
}


def questions(files):
    """{(seed, row): its answers that were judged}"""
    out = collections.defaultdict(list)
    for seed, file in enumerate(files):
        with open(file, encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                if line["counted"]:
                    out[(seed, line["row"])].append(line)
    return out


def mean(values):
    values = [value for value in values if not math.isnan(value)]
    return sum(values) / len(values) if values else math.nan


def interval(values, draw, times=2000):
    """Of the mean; values: a list a task, since answers to one task are alike."""
    values = [own for own in ([v for v in task if not math.isnan(v)] for task in values) if own]
    if not values:
        return math.nan, math.nan
    sums = [(sum(own), len(own)) for own in values]
    means = sorted((lambda taken: sum(s for s, _ in taken) / sum(n for _, n in taken))(draw.choices(sums, k=len(sums))) for _ in range(times))
    return means[times // 40], means[-1 - times // 40]


def by_task(asked, metric):
    out = collections.defaultdict(list)
    for lines in asked.values():
        out[lines[0]["task"]].append(metric(lines))
    return out


def cell(value, low, high, whole):
    return "" if math.isnan(value) else f"{value:.0f}" if whole else f"{value:.3f} ({low:.3f} to {high:.3f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arms", nargs="+", metavar="NAME=FILE")
    parser.add_argument("--rows")
    options = parser.parse_args()
    files = collections.defaultdict(list)
    for arm in options.arms:
        name, _, file = arm.partition("=")
        files[name].append(file)
    arms = {name: questions(paths) for name, paths in files.items()}
    trained = set()
    if options.rows:
        with open(options.rows, encoding="utf-8") as lines:
            rows = [json.loads(line)["extra_info"] for line in lines]
        trained = {structure(row) for row in rows if row["split"] == "train"}
    groups = {"all": lambda line: True}
    for name in ("from scratch", "from feedback"):
        groups[name] = lambda line, name=name: line["skill"] == name
    for name in ("1 operator", "2 to 3", "4 and more"):
        groups[name] = lambda line, name=name: line["skill"] == "from scratch" and level(line) == name
    if trained:
        groups["structures not trained on"] = lambda line: structure(line) not in trained
    draw = random.Random(1)
    for group, belongs in groups.items():
        print(f"\n### {group}\n\n| arm | questions | {' | '.join(METRICS)} |\n|---|---|{'---|' * len(METRICS)}")
        for name, asked in arms.items():
            own = {key: lines for key, lines in asked.items() if belongs(lines[0])}
            cells = []
            for what, metric in METRICS.items():
                values = by_task(own, metric)
                cells.append(cell(mean(v for task in values.values() for v in task), *interval(values.values(), draw), what == "tokens"))
            print(f"| {name} | {len(own)} | {' | '.join(cells)} |")
    first, *others = arms
    if others:
        print(f"\n### over {first}, on the same questions\n\n| arm | questions | pass@1 | reward |\n|---|---|---|---|")
    for name in others:
        common = arms[name].keys() & arms[first].keys()
        cells = []
        for what in ("pass@1", "reward"):
            gains = collections.defaultdict(list)
            for key in common:
                gains[arms[name][key][0]["task"]].append(METRICS[what](arms[name][key]) - METRICS[what](arms[first][key]))
            cells.append(cell(mean(v for task in gains.values() for v in task), *interval(gains.values(), draw), False))
        print(f"| {name} | {len(common)} | {' | '.join(cells)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
