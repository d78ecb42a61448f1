#!/usr/bin/env python3
"""The compact Coder held out fold by fold, over several seeds, with ablations: a table in Markdown.

    tools/train_folds.py --timings timings.jsonl --synthetic 300 -o folds/ --seeds 1 2 3 4 5
    tools/train_folds.py --timings timings.jsonl --synthetic 300 -o folds/ --evaluate level3=graphs/level3 \\
        --write docs/learning.md
    tools/train_folds.py --timings timings.jsonl --synthetic 300 -o warm_up/ --only "no RL" -- --rate 0.002

Each fold trains on four fifths of the tasks and is compared on the last. Sets given by --evaluate are never trained on:
policies of the fixed splits, one a seed, are compared on them. Times are those of the file: this needs no GPU.
Everything behind -- goes to stitchcuda train as it is. Numbers are geometric means of a chooser's time over the
built-in Planner's, averaged over seeds region by region; intervals are 95 %, by resampling regions.
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import random
import subprocess
import sys

ABLATIONS = {
    "rule reward": [],
    "rubric reward": ["--reward-kind", "rubric"],
    "combined reward": ["--reward-kind", "combined"],
    "no RL": ["--steps", "0"],
}
MARKS = "<!-- made by tools/train_folds.py -->", "<!-- end -->"
FOLDS = 5


def train(options, name, seed, fold):
    out = pathlib.Path(options.out) / name.replace(" ", "_") / f"seed{seed}_{'sets' if fold is None else f'fold{fold}'}"
    known = out / "training.json"
    if not known.exists():
        command = [options.stitchcuda, "train", *options.tasks, "-o", str(out), "--reward", "measured", "--timings",
                   options.timings, "--seed", str(seed), "--gpu", options.gpu, "--json"]
        if fold is not None:
            command += ["--fold", str(fold)]
        else:
            for each in options.evaluate:
                command += ["--evaluate", each]
        if options.synthetic:
            command += ["--synthetic", str(options.synthetic)]
        if options.calibration:
            command += ["--calibration", options.calibration]
        ran = subprocess.run(command + ABLATIONS[name] + options.flags, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            sys.exit(f"{name}, seed {seed}, fold {fold}: {ran.stdout or ran.stderr}")
    return json.loads(known.read_text())


def with_interval(logs):
    """A geometric mean and its 95 % interval, by resampling."""
    draw = random.Random(1)
    drawn = sorted(sum(draw.choices(logs, k=len(logs))) / len(logs) for _ in range(2000))
    return f"{math.exp(sum(logs) / len(logs)):.3f} ({math.exp(drawn[50]):.3f} to {math.exp(drawn[1949]):.3f})"


class Collected:
    """Logarithms and trials of one set of regions: by chooser, then by region, one a policy."""

    def __init__(self):
        self.logs, self.trials, self.quarters, self.choices = {}, {}, {}, {}

    def add(self, regions):
        for region in regions:
            key = region["key"]
            self.choices[key] = region["choices"]
            for who, ratio in region["time"].items():
                self.logs.setdefault(who, {}).setdefault(key, []).append(math.log(ratio))
            for who, tried in region["trials"].items():
                self.trials.setdefault(who, {}).setdefault(key, []).append(tried)
            for who, ratio in region.get("after_a_quarter", {}).items():
                self.quarters.setdefault(who, {}).setdefault(key, []).append(math.log(ratio))

    def text(self, who, over=None):
        """A geometric mean over regions with its interval; `over`: of the ratio to another chooser, region by region."""
        if who not in self.logs:
            return ""
        means = {key: sum(each) / len(each) for key, each in self.logs[who].items()}
        if over:
            means = {key: mean - sum(self.logs[over][key]) / len(self.logs[over][key]) for key, mean in means.items()}
        return with_interval(list(means.values()))

    def quarter_text(self, who):
        """The best of the first quarter of the trials over the best of all, a geometric mean with its interval."""
        return with_interval([sum(each) / len(each) for each in self.quarters[who].values()]) if who in self.quarters else ""

    def as_good(self, who, near=0.02):
        """Regions of which this chooser's time is near the best, with every policy."""
        best = {key: each[0] for key, each in self.logs["best"].items()}
        good = [all(log <= best[key] + near for log in each) for key, each in self.logs.get(who, {}).items()]
        return f"{sum(good)} of {len(good)}"

    def trials_text(self, who):
        if who not in self.trials:
            return ""
        means = sorted(sum(each) / len(each) for each in self.trials[who].values())
        shares = [sum(each) / len(each) / self.choices[key] for key, each in self.trials[who].items()]
        quarter = [sum(tried <= max(1, self.choices[key] / 4) for tried in each) / len(each)
                   for key, each in self.trials[who].items()]
        return (f"{means[len(means) // 2]:.1f} ({100 * sum(shares) / len(shares):.0f} %), "
                f"{100 * sum(quarter) / len(quarter):.0f} %")


def collect(options, name):
    sets = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = [(seed, fold) for seed in options.seeds for fold in range(FOLDS)]
        if options.evaluate:
            runs += [(seed, None) for seed in options.seeds]
        for (_, fold), document in zip(runs, pool.map(lambda run: train(options, name, *run), runs)):
            if fold is not None:
                sets.setdefault("held-out synthetic", Collected()).add(document["held_out"]["regions"])
            for which, compared in document.get("evaluated", {}).items():
                sets.setdefault(which, Collected()).add(compared["regions"])
    return {which: own for which, own in sets.items() if own.logs}


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def report(options):
    names = [name for name in ABLATIONS if not options.only or name in options.only]
    results = {name: collect(options, name) for name in names}
    sets = results[names[0]]
    if not sets:
        sys.exit("no held-out region has a choice with a known time")
    which = list(sets)
    counts = [f"{each} ({len(next(iter(sets[each].logs.values())))} regions)" for each in which]
    rows = [[f"compact Coder, {name}"] + [results[name][each].text("compact Coder") for each in which] for name in names]
    others = [who for who in sets[which[0]].logs if who != "compact Coder"]
    rows += [[who] + [sets[each].text(who) for each in which] for who in others]
    text = table(["who chooses: time over the built-in Planner's", *counts], rows)
    text += "\n\n" + table(["compact Coder's time, region by region, over that of", *which], [
        [f"{other}: {name}"] + [results[name][each].text("compact Coder", other) for each in which]
        for other in ("least estimate", "random") if other in sets[which[0]].logs for name in names])
    text += "\n\n" + table(["regions whose choice is within 2 % of the best", *which], [
        [f"compact Coder, {name}"] + [results[name][each].as_good("compact Coder") for each in which] for name in names
    ] + [[who] + [sets[each].as_good(who) for each in which] for who in others if who not in ("random", "best")])
    trials = [[f"compact Coder, {name}"] + [results[name][each].trials_text("compact Coder") for each in which]
              for name in names]
    orders = [who for who in sets[which[0]].trials if who != "compact Coder"]
    trials += [[who] + [sets[each].trials_text(who) for each in which] for who in orders]
    text += "\n\n" + table(["in whose order: choices tried until one is within 5 % of the best, median (share of all); "
                            "regions where a quarter is enough", *which],
                           trials)
    text += "\n\n" + table(["in whose order: the best of the first quarter of the choices, over the best of all", *which], [
        [f"compact Coder, {name}"] + [results[name][each].quarter_text("compact Coder") for each in which] for name in names
    ] + [[who] + [sets[each].quarter_text(who) for each in which] for who in orders])
    return text + f"\n\n{len(options.seeds)} seeds, {FOLDS} folds.\n"


def write_into(path, text):
    page = pathlib.Path(path).read_text()
    begin, end = page.find(MARKS[0]), page.find(MARKS[1])
    if begin < 0 or end < begin:
        sys.exit(f"{path} has no place for the table: {MARKS[0]} … {MARKS[1]}")
    pathlib.Path(path).write_text(page[:begin] + MARKS[0] + "\n" + text + page[end:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", help="graph folders, as stitchcuda train takes them")
    parser.add_argument("--timings", required=True)
    parser.add_argument("--synthetic", type=int, default=0)
    parser.add_argument("--evaluate", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--calibration", default="")
    parser.add_argument("--gpu", default="H200")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--only", action="append", choices=list(ABLATIONS), help="one of the ablations")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at once (default: 1)")
    parser.add_argument("--write", metavar="FILE", help="insert the tables between the markers of this page")
    parser.add_argument("-o", "--out", required=True)
    parser.add_argument("--stitchcuda", default=os.environ.get("STITCHCUDA_BINARY", "stitchcuda"))
    arguments = sys.argv[1:]
    rest = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:rest])
    options.flags = arguments[rest + 1:]
    text = report(options)
    print(text, end="")
    if options.write:
        write_into(options.write, text)


if __name__ == "__main__":
    main()
