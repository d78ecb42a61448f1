#!/usr/bin/env python3
"""Times two versions of the same programs on this GPU, in turns: compare_programs.py BEFORE AFTER [-o table.jsonl]
or the same programs with a setting at its shipped and at another value: compare_programs.py PROGRAMS --set NAME=VALUE

BEFORE and AFTER are folders of program folders (program.cu, regions/, manifest.cu, include/), as `stitchcuda code`
writes them. Programs of the same name are built, run on the same random tensors, compared with each other, and
timed by CUDA events after an L2 flush, one call of each in turn. Needs nvcc and PyTorch with CUDA.
"""
import argparse
import concurrent.futures
import ctypes
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

DTYPES = ["f64", "f32", "f16", "bf16", "i64", "i32", "i8", "u8", "bool"]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.c_int64 * 8), ("strides", ctypes.c_int64 * 8)]


def build(folder, library, threads):
    """One translation unit a program would take minutes for large ones: regions go in `threads` parts."""
    include = folder / "include" if (folder / "include").is_dir() else folder.parent / "include"  # one for all of them
    sources = [folder / "program.cu", folder / "manifest.cu"] + sorted(folder.glob("regions/*.cu"))
    parts = [sources[i::threads] for i in range(min(threads, len(sources)))]
    objects = []
    flags = ["-std=c++17", "-O3", "-arch=" + os.environ.get("ARCH", "sm_90a"), "-Xcompiler", "-fPIC,-fvisibility=hidden",
             "-I", str(include), "-I", str(folder)]
    for number, part in enumerate(parts):
        unit = library.with_suffix(f".{number}.cu")
        unit.write_text("".join(f'#include "{each.resolve()}"\n' for each in part))
        objects.append(str(unit.with_suffix(".o")))
        done = subprocess.run(["nvcc", *flags, "-c", str(unit), "-o", objects[-1]], capture_output=True, text=True)
        if done.returncode:
            return (done.stderr or done.stdout).strip().splitlines()[:3]
    done = subprocess.run(["nvcc", "-shared", "-o", str(library), *objects, "-lcublasLt", "-lcudnn"],
                          capture_output=True, text=True)
    return done.stderr.strip().splitlines()[:3] if done.returncode else None


def described(torch, spec, data):
    out = Tensor(data=data.data_ptr(), dtype=DTYPES.index(spec["dtype"]), rank=len(spec["shape"]))
    strides = spec.get("strides") or data.stride()
    for i, (size, stride) in enumerate(zip(spec["shape"], strides)):
        out.shape[i], out.strides[i] = size, stride
    return out


def drawn(torch, spec, generator):
    types = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
             "i64": torch.int64, "i32": torch.int32, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool}
    dtype, shape = types[spec["dtype"]], spec["shape"]
    if spec.get("role") == "seed" or not dtype.is_floating_point:
        return torch.zeros(shape, dtype=dtype, device="cuda")
    values = torch.rand(shape, generator=generator, device="cuda", dtype=torch.float32) * 2 - 1
    if "var" in spec["name"]:
        values = values.abs() + 0.5  # running variances
    elif spec.get("role") in ("parameter", "buffer", "constant") and len(shape) > 1:
        values *= (3 / max(1, math.prod(shape[1:]))) ** 0.5
    return values.to(dtype)


class Program:
    def __init__(self, torch, library):
        self.torch = torch
        self.library = ctypes.CDLL(str(library))
        self.library.stitch_manifest.restype = ctypes.c_char_p
        self.library.stitch_last_error.restype = ctypes.c_char_p
        self.manifest = json.loads(self.library.stitch_manifest())
        self.handle = ctypes.c_void_p()

    def set(self, name, value):
        self.check(self.library.stitch_set(name.encode(), ctypes.c_int64(value)))

    def create(self, parameters):
        specs = self.manifest["parameters"]
        array = (Tensor * max(1, len(specs)))(*[described(self.torch, s, parameters[s["name"]]) for s in specs])
        self.check(self.library.stitch_create(array, len(specs), 0, ctypes.byref(self.handle)))

    def bind(self, inputs):
        specs, results = self.manifest["inputs"], self.manifest["outputs"]
        self.outputs = [self.torch.empty_strided(s["shape"], s.get("strides") or contiguous(s["shape"]),
                                                 dtype=drawn_dtype(self.torch, s), device="cuda") for s in results]
        self.ins = (Tensor * max(1, len(specs)))(*[described(self.torch, s, inputs[s["name"]]) for s in specs])
        self.outs = (Tensor * max(1, len(results)))(*[described(self.torch, s, o) for s, o in zip(results, self.outputs)])
        self.counts = len(specs), len(results)

    def run(self, stream):
        self.check(self.library.stitch_run(self.handle, self.ins, self.counts[0], self.outs, self.counts[1],
                                           ctypes.c_void_p(stream)))

    def check(self, status):
        if status:
            raise RuntimeError(self.library.stitch_last_error().decode())

    def destroy(self):
        self.library.stitch_destroy(self.handle)


def contiguous(shape):
    out, step = [], 1
    for size in reversed(shape):
        out.insert(0, step)
        step *= max(size, 1)
    return out


def drawn_dtype(torch, spec):
    return {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
            "i64": torch.int64, "i32": torch.int32, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool}[spec["dtype"]]


def compare(torch, before, after, setting, rounds):
    programs = [Program(torch, before), Program(torch, after)]
    if setting:
        programs[1].set(*setting)
    generator = torch.Generator(device="cuda").manual_seed(7)
    manifest = programs[0].manifest
    parameters = {s["name"]: drawn(torch, s, generator) for s in manifest["parameters"]}
    inputs = {s["name"]: drawn(torch, s, generator) for s in manifest["inputs"]}
    for program in programs:
        program.create(parameters)
        program.bind(inputs)
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    stream = torch.cuda.Stream()
    times = [[], []]
    with torch.cuda.stream(stream):
        for program in programs:
            for _ in range(3):
                program.run(stream.cuda_stream)
        torch.cuda.synchronize()
        difference = 0.0
        for a, b in zip(programs[0].outputs, programs[1].outputs):
            if a.is_floating_point():
                scale = a.double().norm().item()
                difference = max(difference, (a.double() - b.double()).norm().item() / max(scale, 1e-30))
        for turn in range(rounds):
            for which in ((0, 1) if turn % 2 else (1, 0)):
                flush.fill_(turn & 127)
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                begin.record(stream)
                programs[which].run(stream.cuda_stream)
                end.record(stream)
                torch.cuda.synchronize()
                times[which].append(begin.elapsed_time(end))
    for program in programs:
        program.destroy()
    medians = [statistics.median(each) for each in times]
    spread = max((sorted(each)[3 * len(each) // 4] - sorted(each)[len(each) // 4]) / m for each, m in zip(times, medians))
    return {"before_ms": medians[0], "after_ms": medians[1], "ratio": medians[1] / medians[0], "spread": spread,
            "difference": difference}


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
    setting = None
    if options.set:
        name, _, value = options.set.partition("=")
        setting = name, int(value)
    if not options.after and not setting:
        parser.error("AFTER or --set NAME=VALUE is needed")
    same = not options.after
    options.after = options.after or options.before
    started = time.time()
    names = sorted(p.parent.name for p in options.before.glob("*/program.cu") if (options.after / p.parent.name).is_dir())
    if setting:
        names = [name for name in names if f'Setting {setting[0]}(' in (options.after / name / "manifest.cu").read_text()]
    if not names:
        sys.exit(f"no program has the setting {setting[0]}" if setting else "no program is in both folders")
    options.build.mkdir(parents=True, exist_ok=True)
    failures = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        largest = sorted(names, key=lambda name: -len(list((options.before / name).glob("regions/*.cu"))))
        jobs = {pool.submit(build, root / name, options.build / f"{name}.{which}.so", 1): (name, which)
                for name in largest for which, root in (("before", options.before), ("after", options.after))
                if not (same and which == "after")}
        for number, job in enumerate(concurrent.futures.as_completed(jobs)):
            if error := job.result():
                failures[jobs[job]] = error
            if number % 20 == 0:
                print(f"built {number + 1} of {len(jobs)}, {time.time() - started:.0f} s", flush=True)
    import torch
    rows = []
    with options.out.open("w") as out:
        for name in names:
            if time.time() - started > options.seconds:
                break
            row = {"name": name}
            if broken := [f"{which}: {failures[(name, which)]}" for which in ("before", "after") if (name, which) in failures]:
                row["error"] = str(broken)
            else:
                try:
                    if same:  # a library of its own path is loaded with settings of its own
                        shutil.copy(options.build / f"{name}.before.so", options.build / f"{name}.after.so")
                    row |= compare(torch, options.build / f"{name}.before.so", options.build / f"{name}.after.so", setting, options.rounds)
                except Exception as error:  # one program's trouble is not the others'
                    row["error"] = str(error)[:300]
            torch.cuda.empty_cache()
            rows.append(row)
            out.write(json.dumps(row) + "\n")
            out.flush()
    timed = [row for row in rows if "ratio" in row]
    for row in sorted(timed, key=lambda row: -row["ratio"]):
        print(f'{row["name"]:60.60} {row["before_ms"]:9.4f} {row["after_ms"]:9.4f}  {row["ratio"]:.3f}  spread {row["spread"]:.3f}  '
              f'difference {row["difference"]:.1e}')
    for row in rows:
        if "error" in row:
            print(f'{row["name"]}: {row["error"]}')
    if timed:
        mean = math.exp(sum(math.log(row["ratio"]) for row in timed) / len(timed))
        print(f'{len(timed)} programs, geomean of after/before {mean:.4f}, worst {max(row["ratio"] for row in timed):.3f}, '
              f'{sum(row["ratio"] > 1.05 for row in timed)} over 1.05; {time.time() - started:.0f} s')


if __name__ == "__main__":
    main()
