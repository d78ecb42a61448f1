#!/usr/bin/env python3
"""Times two versions of the same programs on this GPU, in turns: compare_programs.py BEFORE AFTER [-o table.jsonl]
or the same programs with a setting at its shipped and at another value: compare_programs.py PROGRAMS --set NAME=VALUE

BEFORE and AFTER are folders of program folders (program.cu, regions/, manifest.cu, include/), as `stitchcuda code`
writes them. Programs of the same name are built, run on the same random tensors, compared with each other, and
timed by CUDA events after an L2 flush, one call of each in turn. Needs nvcc and PyTorch with CUDA.
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

import torch
from program_library import Program, empty


def build(folder, library):
    """What nvcc said, if it failed. All sources as one: each program has a core to itself."""
    include = folder / "include" if (folder / "include").is_dir() else folder.parent / "include"  # one for all of them
    sources = [folder / "program.cu", folder / "manifest.cu", *sorted(folder.glob("regions/*.cu"))]
    unit = library.with_suffix(".cu")
    unit.write_text("".join(f'#include "{each.resolve()}"\n' for each in sources))
    flags = f"-std=c++17 -O3 -shared -arch={os.environ.get('ARCH', 'sm_90a')} -Xcompiler -fPIC,-fvisibility=hidden -lcublasLt -lcudnn".split()
    done = subprocess.run(["nvcc", *flags, "-I", include, "-I", folder, unit, "-o", library], capture_output=True, text=True)
    return (done.stderr or done.stdout).strip().splitlines()[:3] if done.returncode else None


def drawn(entry, generator):
    tensor, shape = empty(entry).zero_(), entry["shape"]
    if entry.get("role") == "seed" or not tensor.is_floating_point():
        return tensor
    values = torch.rand(shape, generator=generator, device="cuda", dtype=torch.float32) * 2 - 1
    if "var" in entry["name"]:
        values = values.abs() + 0.5  # running variances
    elif entry.get("role") in ("parameter", "buffer", "constant") and len(shape) > 1:
        values *= (3 / max(1, math.prod(shape[1:]))) ** 0.5
    return tensor.copy_(values)


def distance(a, b):
    a, b = a.double(), b.double()
    return (a - b).norm().item() / max(a.norm().item(), 1e-30)


def compare(before, after, setting, rounds):
    programs, stream = [Program(before), Program(after)], torch.cuda.Stream()
    if setting:
        programs[1].set(*setting)
    generator = torch.Generator(device="cuda").manual_seed(7)
    tensors = {entry["name"]: drawn(entry, generator) for part in ("parameters", "inputs") for entry in programs[0].entries(part)}
    calls, outputs = [], []
    for program in programs:
        program.create([tensors[entry["name"]] for entry in program.entries("parameters")])
        outputs.append([empty(entry) for entry in program.entries("outputs")])
        calls.append(program.bound([tensors[entry["name"]] for entry in program.entries("inputs")], outputs[-1], stream.cuda_stream))
    flush, times = torch.empty(256 << 20, dtype=torch.uint8, device="cuda"), [[], []]
    with torch.cuda.stream(stream):
        for call in calls * 3:
            call()
        torch.cuda.synchronize()
        difference = max([distance(a, b) for a, b in zip(*outputs) if a.is_floating_point()], default=0.0)
        for turn in range(rounds):
            for which in (0, 1) if turn % 2 else (1, 0):
                flush.fill_(turn & 127)
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                begin.record(stream)
                calls[which]()
                end.record(stream)
                torch.cuda.synchronize()
                times[which].append(begin.elapsed_time(end))
    for program in programs:
        program.destroy()
    medians = [statistics.median(each) for each in times]
    spread = max((sorted(each)[3 * len(each) // 4] - sorted(each)[len(each) // 4]) / m for each, m in zip(times, medians))
    return {"before_ms": medians[0], "after_ms": medians[1], "ratio": medians[1] / medians[0], "spread": spread, "difference": difference}


def build_all(names, roots, folder, jobs, begin):
    """{(program, which): what the compiler said} of those that failed. roots: {"before": folder, "after": folder}."""
    folder.mkdir(parents=True, exist_ok=True)
    largest = sorted(names, key=lambda name: -len(list((roots["before"] / name).glob("regions/*.cu"))))
    failed = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(build, root / name, folder / f"{name}.{which}.so"): (name, which) for name in largest for which, root in roots.items()}
        for number, job in enumerate(concurrent.futures.as_completed(running)):
            if error := job.result():
                failed[running[job]] = error
            if number % 20 == 0:
                print(f"built {number + 1} of {len(running)}, {time.time() - begin:.0f} s", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path, nargs="?", help="default with --set: BEFORE")
    parser.add_argument("--set", metavar="NAME=VALUE", help="a setting of AFTER's programs; those without it are left out")
    parser.add_argument("-o", "--out", type=pathlib.Path, default=pathlib.Path("compare_programs.jsonl"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/compare"))
    parser.add_argument("--seconds", type=float, default=1e9, help="stop timing after this many seconds in all")
    options = parser.parse_args()
    if not options.after and not options.set:
        parser.error("AFTER or --set NAME=VALUE is needed")
    begin, setting = time.time(), options.set and (options.set.partition("=")[0], int(options.set.partition("=")[2]))
    after = options.after or options.before
    names = sorted(path.parent.name for path in options.before.glob("*/program.cu") if (after / path.parent.name).is_dir())
    if setting:
        names = [name for name in names if f"Setting {setting[0]}(" in (after / name / "manifest.cu").read_text()]
    if not names:
        sys.exit(f"no program has the setting {setting[0]}" if setting else "no program is in both folders")
    roots = {"before": options.before, **({"after": options.after} if options.after else {})}
    failed, rows = build_all(names, roots, options.build, options.jobs, begin), []
    with options.out.open("w") as out:
        for name in names:
            if time.time() - begin > options.seconds:
                break
            rows.append({"name": name, **row_of(name, failed, options, setting)})
            torch.cuda.empty_cache()
            out.write(json.dumps(rows[-1]) + "\n")
            out.flush()
    report(rows, time.time() - begin)


def row_of(name, failed, options, setting):
    if broken := [f"{which}: {failed[(name, which)]}" for which in ("before", "after") if (name, which) in failed]:
        return {"error": str(broken)}
    before, after = (options.build / f"{name}.{which}.so" for which in ("before", "after"))
    try:
        if not options.after:  # a library of its own path is loaded with settings of its own
            shutil.copy(before, after)
        return compare(before, after, setting, options.rounds)
    except Exception as error:  # one program's trouble is not the others'
        return {"error": str(error)[:300]}


def report(rows, seconds):
    timed = sorted((row for row in rows if "ratio" in row), key=lambda row: -row["ratio"])
    for row in timed:
        times = f"{row['before_ms']:9.4f} {row['after_ms']:9.4f}  {row['ratio']:.3f}  spread {row['spread']:.3f}"
        print(f"{row['name']:60.60} {times}  difference {row['difference']:.1e}")
    for row in rows:
        if "error" in row:
            print(f"{row['name']}: {row['error']}")
    if timed:
        ratios = [row["ratio"] for row in timed]
        over = sum(ratio > 1.05 for ratio in ratios)
        print(
            f"{len(timed)} programs, geomean of after/before {statistics.geometric_mean(ratios):.4f}, worst {ratios[0]:.3f}, {over} over 1.05; {seconds:.0f} s"
        )


if __name__ == "__main__":
    main()
