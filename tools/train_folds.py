#!/usr/bin/env python3
"""The compact Coder held out fold by fold: train on four fifths of the tasks, compare on the last, for all five.

    tools/train_folds.py --timings timings.jsonl --synthetic 300 -o folds/ --seeds 1 2 3 4 5
    tools/train_folds.py --timings timings.jsonl --synthetic 300 -o no_rl/ -- --steps 0

Everything behind -- goes to stitchcuda train as it is, for ablations. The times are those of the file: this needs
no GPU. Prints the geometric mean of each chooser's time over the built-in Planner's, over every held-out region,
with a 95 % interval over folds and seeds.
"""

import argparse
import json
import math
import os
import pathlib
import random
import subprocess
import sys


def train(options, seed, fold):
    out = pathlib.Path(options.out) / f"seed{seed}_fold{fold}"
    command = [options.stitchcuda, "train", *options.tasks, "-o", str(out), "--reward", "measured", "--timings",
               options.timings, "--fold", str(fold), "--seed", str(seed), "--json"]
    if options.synthetic:
        command += ["--synthetic", str(options.synthetic)]
    ran = subprocess.run(command + options.flags, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"seed {seed}, fold {fold}: {ran.stdout or ran.stderr}")
    return json.loads(ran.stdout)


def mean(parts):
    weight = sum(count for count, _ in parts)
    return math.exp(sum(count * log for count, log in parts) / weight)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", help="graph folders, as stitchcuda train takes them")
    parser.add_argument("--timings", required=True)
    parser.add_argument("--synthetic", type=int, default=0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("-o", "--out", required=True)
    parser.add_argument("--stitchcuda", default=os.environ.get("STITCHCUDA_BINARY", "stitchcuda"))
    arguments = sys.argv[1:]
    rest = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:rest])
    options.flags = arguments[rest + 1:]
    times, shares, regions = {}, {}, 0
    for seed in options.seeds:
        for fold in range(5):
            held_out = train(options, seed, fold)["held_out"]
            count = held_out["problems"]
            regions += count
            if count == 0:
                continue
            for each in held_out["time_over_built_in"]:
                times.setdefault(each["who"], []).append((count, math.log(each["geomean"])))
            for each in held_out["search"]:
                shares.setdefault(each["who"], []).append((count, each["mean_share"]))
    if regions == 0:
        sys.exit("no held-out region has a choice with a known time")
    print(f"{regions} held-out regions over {len(options.seeds)} seeds")
    draw = random.Random(1)
    for who, parts in times.items():
        drawn = sorted(mean([draw.choice(parts) for _ in parts]) for _ in range(1000))
        print(f"{who:20} {mean(parts):.3f} of the built-in's time ({drawn[25]:.3f} to {drawn[974]:.3f})")
    for who, parts in shares.items():
        share = sum(count * value for count, value in parts) / sum(count for count, _ in parts)
        print(f"{who:24} tries {100 * share:.0f} % of the choices until one is within 5 % of the best")


if __name__ == "__main__":
    main()
