"""python -m stitchcuda_torch.cases FILE.py... --out DIR: test data for C++, each case with its float64 answer.

A file defines cases(), yielding stitchcuda_torch.cases.case.Case objects, or is a task, which is one case named by its stem.
"""

import argparse
import ast
import collections
import contextlib
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

    names, counts, failed, terminal = {}, collections.Counter(), [], sys.stdout.isatty()
    for kind, file_stem, name, message in in_workers(work, (files, options.out), options.jobs, died):
        names.setdefault(file_stem, []).append(name)
        counts[kind] += 1
        if kind == "failed":
            failed.append((name, message))
        if terminal:
            print(f"\r\033[K{counts.total()} cases, {len(failed)} failed: {name}", end="", flush=True)
    if terminal:
        print("\r\033[K", end="")
    broken = {name.split(".")[0] for name, _ in failed}
    for file in files:
        if stem(file) not in broken and "worker" not in broken:
            with open(stamp(file, options.out), "w") as stream:
                json.dump(names.get(stem(file), []), stream)
    return counts["made"], counts["kept"], failed


def died(code):
    return "failed", "worker", "worker", f"a worker process died with exit code {code}"


def in_workers(work, arguments, jobs, died):
    """What forked processes send, one a shard: work(*arguments, shard, shards, send); and died(exit code) of those that did."""
    context = multiprocessing.get_context("fork")
    results, shards = context.Queue(), max(1, jobs)
    workers = [context.Process(target=work, args=(*arguments, shard, shards, results.put)) for shard in range(shards)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers) or not results.empty():
        with contextlib.suppress(queue.Empty):
            yield results.get(timeout=0.5)
    for worker in workers:
        worker.join()
        if worker.exitcode:
            yield died(worker.exitcode)


def work(files, out, shard, shards, send):
    import torch

    from .case import each_case, make

    torch.set_num_threads(1)
    number = 0
    for file in files:
        newest = newest_source(file)
        try:
            for name, get_case in each_case(file):
                number += 1
                if number % shards == shard:
                    send(one(file, name, get_case, out, newest, make))
        except Exception as error:
            if shard == 0:
                send(("failed", stem(file), stem(file), describe(error)))


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
