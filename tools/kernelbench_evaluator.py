#!/usr/bin/env python3
"""Programs before KernelBench's own evaluator, as a table.

    tools/kernelbench_evaluator.py CHECKOUT PROGRAMS -o results.jsonl [--levels 3] [--jobs 2] [--follow PID]

CHECKOUT is an unpacked KernelBench repository; PROGRAMS a folder that `stitchcuda bench` wrote (its programs/levelN/TASK with
model_new.py). Each is judged by KernelBench's own code: its seeds, five trials, its allclose. What it rejects, and what has no
program that passed our own gates, is followed by PyTorch itself, computed in other ways (python/stitchcuda_torch/kernelbench.py)
until the evaluator rejects one of those, too.
A line a task goes into results.jsonl, so that an interrupted run goes on there. Needs a GPU. With --follow, programs are judged
as a `bench` that still runs finishes them; what found no memory beside others is judged again at the end, alone.
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
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "python"))

from stitchcuda_torch.kernelbench import WAYS  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout")
    parser.add_argument("programs")
    parser.add_argument("-o", "--out", required=True, help="results, one JSON line per task")
    parser.add_argument("--levels", default="1,2,3", help="default: 1,2,3")
    parser.add_argument("--jobs", type=int, default=2, help="evaluators running at once (default: 2)")
    parser.add_argument("--time-limit", type=int, default=120, help="seconds for one evaluation (default: 120)")
    parser.add_argument("--ways", default=",".join(WAYS), help="other ways of computing PyTorch's result, for what is rejected; or 'none'")
    parser.add_argument("--follow", type=int, metavar="PID", help="process id of a bench that still writes PROGRAMS: judge until it ends")
    parser.add_argument("--draw-on-gpu", action="store_true", help="inputs by the GPU's generator: other numbers, seconds instead of minutes")
    parser.add_argument("--table", action="store_true", help="only print the table of results.jsonl")
    options = parser.parse_args()
    ways = [] if options.ways == "none" else options.ways.split(",")
    unknown = [way for way in ways if way not in WAYS]
    if unknown:
        parser.error(f"unknown way '{unknown[0]}'; there are: {', '.join(WAYS)}")
    done = read_results(options.out)
    if not options.table:
        judge_all(options, ways, done)
    tasks = all_tasks(options)
    if not tasks:
        sys.exit(f"{options.programs} has no programs of the tasks in {options.checkout}")
    print(table([done[task["name"]] for task in tasks if task["name"] in done]))


def all_tasks(options):
    return [task for level in options.levels.split(",") for task in tasks_of(options.checkout, options.programs, int(level))]


def bench_records(programs):
    """What `bench` wrote of the tasks that it has finished."""
    return read_results(os.path.join(programs, "tasks.jsonl"), "task")


def tasks_of(checkout, programs, level):
    """Those with a program, and those of which `bench` says that none passed its gates."""
    records = bench_records(programs)
    folder = os.path.join(checkout, "KernelBench", f"level{level}")
    found = []
    for file in sorted(os.listdir(folder) if os.path.isdir(folder) else [], key=lambda name: int(re.match(r"\d*", name).group() or 0)):
        stem, ending = os.path.splitext(file)
        places = [os.path.join(programs, *rest, f"level{level}", stem) for rest in (("programs",), ())]
        place = next((place for place in places if os.path.exists(os.path.join(place, "model_new.py"))), None)
        if ending == ".py":
            record = records.get(f"level{level}/{stem}", {"passed": True})
            program, why = place if record.get("passed") else None, record.get("reason", record.get("code", ""))
            found.append({"name": f"level{level}/{stem}", "level": level, "task": os.path.join(folder, file), "program": program, "why": why})
    return [task for task in found if task["program"] or task["why"]]


def read_results(path, key="name"):
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        lines = [line for line in file if line.endswith("\n")]  # an incomplete last line is ignored
    return {record[key]: record for record in map(json.loads, lines)}


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as file:  # a zombie has ended as well
        return file.read().rpartition(")")[2].split()[0] != "Z"


def coming(options, done):
    """Tasks to judge, each once, as their programs come."""
    given = set(done)
    while True:
        going_on = options.follow is not None and is_running(options.follow)
        finished = bench_records(options.programs) if options.follow is not None else None
        for task in all_tasks(options):
            if task["name"] not in given and (finished is None or task["name"] in finished):
                given.add(task["name"])
                yield task
        if not going_on:
            return
        yield None


class Evaluator:
    """A process that judges one after the other; one that crashed or hangs is replaced."""

    def __init__(self, options):
        self.checkout, self.seconds, self.process = options.checkout, options.time_limit, None
        self.flags = ["--serve", "--no-timing", *(["--draw-on-gpu"] if options.draw_on_gpu else [])]

    def start(self):
        environment = {"OMP_NUM_THREADS": "2", **os.environ, "PYTHONPATH": os.path.join(ROOT, "python")}
        command = [sys.executable, "-m", "stitchcuda_torch.kernelbench", self.checkout, *self.flags]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, **pipes, env=environment, text=True, bufsize=1)

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


def judge_all(options, ways, done):
    evaluators = queue.SimpleQueue()
    for _ in range(options.jobs):
        evaluators.put(Evaluator(options))

    def judge(task):
        evaluator = evaluators.get()
        try:
            begin = time.monotonic()
            verdict = evaluator.judge(task["task"], task["program"]) if task["program"] else no_program(task)
            record = {key: task[key] for key in ("name", "level")} | {key: verdict.get(key) for key in ("correct", "largest", "metadata")}
            record["seconds"] = round(time.monotonic() - begin, 1)
            if not verdict["correct"] and not lacked_memory(record):
                record["pytorch"] = {}
                for way in ways:
                    other = evaluator.judge(task["task"], f"pytorch:{way}")
                    record["pytorch"][way] = {key: other.get(key) for key in ("correct", "largest")}
                    if not other["correct"]:
                        break  # one is enough
            return record
        finally:
            evaluators.put(evaluator)

    def keep(record, file):
        done[record["name"]] = record
        file.write(json.dumps(record) + "\n")
        file.flush()
        said = "accepted" if record["correct"] else "rejected"
        print(f"{record['name']}: {said} in {record['seconds']} s, {len(done)} judged", file=sys.stderr, flush=True)

    tasks, judging, alone, more = {}, set(), [], coming(options, done)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, open(options.out, "a") as file:
        while more or judging:
            for task in more or ():
                if task is None:
                    break
                judging.add(pool.submit(judge, task))
                tasks[task["name"]] = task
            else:
                more = None
            finished, judging = concurrent.futures.wait(judging, timeout=0.5, return_when=concurrent.futures.FIRST_COMPLETED)
            if not finished:
                time.sleep(0 if judging else 0.5)
            for record in (each.result() for each in finished):  # a slow one holds up no other
                alone.append(tasks[record["name"]]) if lacked_memory(record) and options.jobs > 1 else keep(record, file)
        while not evaluators.empty():
            evaluators.get().close()
        evaluators.put(Evaluator(options))
        for task in alone:
            keep(judge(task), file)
        evaluators.get().close()


def no_program(task):
    return {"correct": False, "largest": None, "metadata": {"failure": str(task["why"]).splitlines()[0]}}


def lacked_memory(record):
    return "out of memory" in json.dumps(record["metadata"] or {}).lower()


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
    return str(why).splitlines()[0][:120].replace("|", "/")


def ways_text(record):
    def text(other):
        return "accepted" if other["correct"] else "failed" if other["largest"] is None else f"{other['largest']:.2g}"

    return ", ".join(f"{way} {text(other)}" for way, other in record.get("pytorch", {}).items()) or "not tried"


if __name__ == "__main__":
    main()
