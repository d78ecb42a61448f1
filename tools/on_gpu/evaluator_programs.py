#!/usr/bin/env python3
"""Run elsewhere: programs for KernelBench's own evaluator, written and compiled where no GPU is, ready to be carried to one.

    tools/on_gpu/evaluator_programs.py CHECKOUT OUT ORDER [--tool build/dev/stitchcuda] [--jobs 2]

ORDER lists tasks, "LEVEL NUMBER" a line. Each becomes OUT/levelN/TASK, a program of the plan that `--compat kernelbench` starts
from, with its library for sm_90a. None of our own gates is asked: they need a GPU, and the evaluator is the judge of this table.
On the GPU machine: tools/kernelbench_evaluator.py CHECKOUT OUT -o results.jsonl. What is there already is left as it is.
"""

import argparse
import concurrent.futures
import glob
import importlib.util
import os
import subprocess
import sys
import time

import torch


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout")
    parser.add_argument("out")
    parser.add_argument("order")
    parser.add_argument("--tool", default="build/dev/stitchcuda")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    torch.cuda.get_device_capability = lambda device=None: (9, 0)  # what the programs ask before they compile
    os.cpu_count = lambda: 1  # one nvcc for each of our jobs
    with open(options.order) as file:
        tasks = [task_file(options.checkout, *line.split()) for line in file if line.strip()]
    begin, done = time.monotonic(), 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, problem in pool.map(lambda task: make(task, options), tasks):
            done += 1
            print(f"{time.monotonic() - begin:.0f} s, {done} of {len(tasks)}: {name}{': ' + problem if problem else ''}", flush=True)


def task_file(checkout, level, number):
    found = glob.glob(os.path.join(checkout, "KernelBench", f"level{level}", f"{number}_*.py"))
    if len(found) != 1:
        sys.exit(f"{checkout} has no task {number} in level {level}")
    return found[0]


def make(task, options):
    """(name, problem or nothing)"""
    name = os.path.join(os.path.basename(os.path.dirname(task)), os.path.splitext(os.path.basename(task))[0])
    folder = os.path.join(options.out, name)
    library = os.path.join(folder, "build", "libprogram.so")
    if os.path.exists(library):
        return name, ""
    command = [options.tool, "code", task, "-o", folder, "--compat", "kernelbench", "--gpu", "H200", "--weights", "never", "--force"]
    written = subprocess.run(command, capture_output=True, text=True)
    if written.returncode != 0:
        return name, written.stderr.strip().splitlines()[-1]
    try:
        spec = importlib.util.spec_from_file_location("model_new", os.path.join(folder, "model_new.py"))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module._compile(folder, None, library)
    except Exception as error:  # whatever the task's own file raises
        return name, str(error).strip().splitlines()[0]
    return name, ""


if __name__ == "__main__":
    main()
