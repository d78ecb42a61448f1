"""python -m stitchcuda_torch.cases FILE.py... --out DIR: test data for C++, each case with its float64 answer.

A file defines cases(), yielding stitchcuda_torch.cases.case.Case objects, or is a task, which is one case named by its stem.
"""

import argparse
import ast
import functools
import json
import multiprocessing
import os
import queue
import sys
import time

from .. import FOLDER
from ..base import protocol


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="stitchcuda_torch.cases", description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--out", required=True)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    start = time.monotonic()
    os.makedirs(options.out, exist_ok=True)
    stale = [file for file in options.files if not is_current(file, options.out)]
    made, kept, failed = build(stale, options) if stale else (0, 0, [])
    kept += sum(len(finished_names(file, options.out)) for file in options.files if file not in stale)
    for name, message in failed:
        print(f"failed: {name}: {message}")
    print(f"{made} cases made, {kept} up to date, {len(failed)} failed in {time.monotonic() - start:.1f} s")
    return 1 if failed else 0


def build(files, options):
    protocol.quiet_libraries()
    import torch  # noqa: F401  before the fork, so that the workers share it

    from ..export import trace  # noqa: F401

    context = multiprocessing.get_context("fork")
    results, workers = context.Queue(), []
    jobs = max(1, options.jobs)
    for shard in range(jobs):
        workers.append(context.Process(target=work, args=(files, options.out, shard, jobs, results)))
        workers[-1].start()
    names, made, kept, failed = collect(workers, results)
    broken = {name.split(".")[0] for name, _ in failed}
    for file in files:
        if stem(file) not in broken and "worker" not in broken:
            with open(stamp(file, options.out), "w") as stream:
                json.dump(names.get(stem(file), []), stream)
    return made, kept, failed


def collect(workers, results):
    names, made, kept, failed, running = {}, 0, 0, [], len(workers)
    terminal = sys.stdout.isatty()
    while running:
        try:
            kind, file_stem, name, message = results.get(timeout=0.5)
        except queue.Empty:
            if not any(worker.is_alive() for worker in workers) and results.empty():
                break
            continue
        if kind == "end":
            running -= 1
            continue
        names.setdefault(file_stem, []).append(name)
        made, kept = made + (kind == "made"), kept + (kind == "kept")
        if kind == "failed":
            failed.append((name, message))
        if terminal:
            print(f"\r\033[K{made + kept + len(failed)} cases, {len(failed)} failed: {name}", end="", flush=True)
    if terminal:
        print("\r\033[K", end="")
    for worker in workers:
        worker.join()
        if worker.exitcode:
            failed.append(("worker", f"a worker process died with exit code {worker.exitcode}"))
    return names, made, kept, failed


def work(files, out, shard, jobs, results):
    import torch

    from .case import each_case, make

    torch.set_num_threads(1)
    number = 0
    for file in files:
        newest = newest_source(file)
        try:
            for name, get_case in each_case(file):
                number += 1
                if number % jobs == shard:
                    results.put(one(file, name, get_case, out, newest, make))
        except Exception as error:
            if shard == 0:
                results.put(("failed", stem(file), stem(file), describe(error)))
    results.put(("end", None, None, None))


def one(file, name, get_case, out, newest, make):
    folder = os.path.join(out, name)
    try:
        if os.path.getmtime(os.path.join(folder, "case.json")) > newest:
            return "kept", stem(file), name, ""
    except OSError:
        pass
    try:
        os.makedirs(folder, exist_ok=True)
        make(get_case(), name, file, folder)
        return "made", stem(file), name, ""
    except Exception as error:
        return "failed", stem(file), name, describe(error)


def describe(error):
    text = str(error).strip().splitlines()
    message = f"{type(error).__name__}: {text[0] if text else ''}"
    place = getattr(error, "where", "")
    return f"{message} ({place})" if place else message


def stem(file):
    return os.path.splitext(os.path.basename(file))[0]


def stamp(file, out):
    """Lists the cases of a file that was done without failure: a rerun needn't even import PyTorch."""
    return os.path.join(out, f"{stem(file)}.cases.json")


def finished_names(file, out):
    try:
        with open(stamp(file, out)) as stream:
            return json.load(stream)
    except (OSError, ValueError):
        return []


def is_current(file, out):
    try:
        newest = newest_source(file)
        markers = [stamp(file, out), *(os.path.join(out, name, "case.json") for name in finished_names(file, out))]
        return all(os.path.getmtime(marker) > newest for marker in markers)
    except OSError:
        return False


def newest_source(file):
    return max(os.path.getmtime(path) for path in [file, *own_sources()])


@functools.cache
def own_sources():
    """This package's files that a case is made by: what cases/case.py imports, directly or not."""
    found, left = set(), {os.path.join(FOLDER, "cases", "case.py")}
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left.update(imports_of(path))
    return found


def imports_of(path):
    """The files of its own package that a file imports, read from its text."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            place = path
            for _ in range(node.level):
                place = os.path.dirname(place)
            place = os.path.join(place, *(node.module or "").split("."))
            yield from filter(os.path.exists, [f"{place}.py", *(os.path.join(place, f"{alias.name}.py") for alias in node.names)])


if __name__ == "__main__":
    sys.exit(main())
