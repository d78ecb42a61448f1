#!/usr/bin/env python3
"""Programs before KernelBench's own evaluator, as a table.

    tools/kernelbench_evaluator.py CHECKOUT PROGRAMS -o results.jsonl [--levels 3] [--jobs 2]

CHECKOUT is an unpacked KernelBench repository; PROGRAMS a folder that `stitchcuda bench` wrote (its programs/levelN/TASK with
model_new.py). Each is judged by KernelBench's own code: its seeds, five trials, its allclose. What it rejects is followed by
PyTorch itself, computed in other ways (python/stitchcuda_torch/kernelbench_ways.py): does the evaluator reject those, too?
A line a task goes into results.jsonl, so that an interrupted run goes on there. Needs a GPU; nothing else should use it.
"""

import argparse
import concurrent.futures
import json
import os
import queue
import re
import select
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "python"))

from stitchcuda_torch.kernelbench_ways import WAYS  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout")
    parser.add_argument("programs")
    parser.add_argument("-o", "--out", required=True, help="results, a JSON line a task")
    parser.add_argument("--levels", default="1,2,3", help="default: 1,2,3")
    parser.add_argument("--jobs", type=int, default=2, help="evaluators side by side (default: 2)")
    parser.add_argument("--time-limit", type=int, default=120, help="seconds for one evaluation (default: 120)")
    parser.add_argument("--ways", default=",".join(WAYS), help="of PyTorch, for what is rejected; 'none' for none")
    parser.add_argument("--table", action="store_true", help="judge nothing: print the table of what results.jsonl has")
    options = parser.parse_args()
    ways = [] if options.ways == "none" else options.ways.split(",")
    unknown = [way for way in ways if way not in WAYS]
    if unknown:
        parser.error(f"unknown way '{unknown[0]}'; there are: {', '.join(WAYS)}")
    done = read_results(options.out)
    tasks = [task for level in options.levels.split(",") for task in tasks_of(options.checkout, options.programs, int(level))]
    if not tasks:
        sys.exit(f"{options.programs} has no programs of the tasks in {options.checkout}")
    if not options.table:
        judge_all([task for task in tasks if task["name"] not in done], options, ways, done)
    print(table([done[task["name"]] for task in tasks if task["name"] in done]))


def tasks_of(checkout, programs, level):
    folder = os.path.join(checkout, "KernelBench", f"level{level}")
    found = []
    for file in sorted(os.listdir(folder) if os.path.isdir(folder) else [], key=lambda name: int(re.match(r"\d*", name).group() or 0)):
        stem, ending = os.path.splitext(file)
        places = [os.path.join(programs, *rest, f"level{level}", stem) for rest in (("programs",), ())]
        place = next((place for place in places if os.path.exists(os.path.join(place, "model_new.py"))), None)
        if ending == ".py":
            found.append({"name": f"level{level}/{stem}", "level": level, "task": os.path.join(folder, file), "program": place})
    return [task for task in found if task["program"]]


def read_results(path):
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        lines = [line for line in file if line.endswith("\n")]  # half a line at the end is nobody's
    return {record["name"]: record for record in map(json.loads, lines)}


class Evaluator:
    """A process that judges one after the other; one that crashed or hangs is replaced."""

    def __init__(self, checkout, seconds):
        self.checkout, self.seconds, self.process = checkout, seconds, None

    def start(self):
        environment = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")}
        self.process = subprocess.Popen([sys.executable, "-m", "stitchcuda_torch.kernelbench_eval", self.checkout, "--serve", "--no-timing"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True, bufsize=1)

    def judge(self, task, package):
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(json.dumps({"task": task, "package": package}) + "\n")
            self.process.stdin.flush()
            ready, _, _ = select.select([self.process.stdout], [], [], self.seconds)
            line = self.process.stdout.readline() if ready else ""
        except OSError:
            line, ready = "", True
        if line:
            return json.loads(line)
        self.close()
        return {"correct": False, "largest": None, "metadata": {"failure": "crashed" if ready else f"not done in {self.seconds} s"}}

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.process = None


def judge_all(tasks, options, ways, done):
    evaluators = queue.SimpleQueue()
    for _ in range(options.jobs):
        evaluators.put(Evaluator(options.checkout, options.time_limit))

    def judge(task):
        evaluator = evaluators.get()
        try:
            verdict = evaluator.judge(task["task"], task["program"])
            record = {"name": task["name"], "level": task["level"], **{key: verdict.get(key) for key in ("correct", "largest", "metadata")}}
            if not verdict["correct"]:
                others = {way: evaluator.judge(task["task"], f"pytorch:{way}") for way in ways}
                record["pytorch"] = {way: {key: other.get(key) for key in ("correct", "largest")} for way, other in others.items()}
            return record
        finally:
            evaluators.put(evaluator)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, open(options.out, "a") as file:
        for judged in concurrent.futures.as_completed([pool.submit(judge, task) for task in tasks]):  # a slow one holds up no other
            record = judged.result()
            done[record["name"]] = record
            file.write(json.dumps(record) + "\n")
            file.flush()
            print(f"{record['name']}: {'accepted' if record['correct'] else 'rejected'}", file=sys.stderr, flush=True)
    while not evaluators.empty():
        evaluators.get().close()


def table(records):
    lines = ["| level | accepted | rejected | of these, PyTorch computed in another way is rejected too |", "|---|---|---|---|"]
    for level in sorted({record["level"] for record in records}):
        own = [record for record in records if record["level"] == level]
        rejected = [record for record in own if not record["correct"]]
        lines.append(f"| {level} | {len(own) - len(rejected)} of {len(own)} | {len(rejected)} | {sum(map(is_pytorch_rejected, rejected))} |")
    rejected = [record for record in records if not record["correct"]]
    if rejected:
        lines += ["", "| rejected | largest difference | PyTorch in other ways: largest difference, or accepted |", "|---|---|---|"]
        lines += [f"| {record['name']} | {difference(record)} | {ways_text(record)} |" for record in rejected]
    return "\n".join(lines)


def is_pytorch_rejected(record):
    return any(not other["correct"] for other in record.get("pytorch", {}).values())


def difference(record):
    if record["largest"] is not None:
        return f"{record['largest']:.2g}"
    metadata = record["metadata"] or {}
    why = next((metadata[key] for key in ("failure", "runtime_error", "compilation_error", "correctness_issue") if key in metadata), "no verdict")
    return str(why).splitlines()[0][:80].replace("|", "/")


def ways_text(record):
    return ", ".join(f"{way} " + ("accepted" if other["correct"] else f"{other['largest']:.2g}" if other["largest"] is not None else "failed")
                     for way, other in record.get("pytorch", {}).items()) or "not tried"


if __name__ == "__main__":
    main()
