#!/usr/bin/env python3
"""time_sizes.py TASK.py PROGRAM LIBRARY -o FILE: a program for ranges of sizes beside PyTorch, at sizes drawn at random and at both ends.

Times are medians by CUDA events. --at '{"batch": 6}' (several times) instead of drawn sizes; a program for one size has its own.
"""

import argparse
import ctypes
import importlib.util
import json
import math
import pathlib
import random
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from stitchcuda_torch.task import sizes as sizes_of

DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i8": torch.int8,
    "u8": torch.uint8,
    "bool": torch.bool,
}
CODES = {dtype: code for code, dtype in enumerate(DTYPES.values())}


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("shape", ctypes.c_int64 * 8),
        ("strides", ctypes.c_int64 * 8),
    ]


def pack(tensors):
    out = (Tensor * max(len(tensors), 1))()
    for to, tensor in zip(out, tensors):
        to.data, to.dtype, to.rank = tensor.data_ptr(), CODES[tensor.dtype], tensor.dim()
        for i in range(tensor.dim()):
            to.shape[i], to.strides[i] = tensor.shape[i], tensor.stride(i)
    return out


def evaluate(number, sizes):
    return eval(number.replace("/", "//"), {"__builtins__": {}}, sizes) if isinstance(number, str) else number


def clock(call, times=20):
    for _ in range(4):
        call()
    seconds = []
    for _ in range(times):
        begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        seconds.append(begin.elapsed_time(end) * 1e3)
    return sorted(seconds)[times // 2]


def drawn(ranges, count=5):
    """Logarithms are uniform; then the largest and the smallest."""
    random.seed(7)

    def one(each):
        size = int(math.exp(random.uniform(math.log(max(each["least"], 2)), math.log(each["most"] + 1))))
        return max(each["least"], size // each["multiple"] * each["multiple"])

    out = [{each["name"]: one(each) for each in ranges} for _ in range(count)]
    out.append({each["name"]: each["most"] // each["multiple"] * each["multiple"] for each in ranges})
    return [*out, {each["name"]: -(-each["least"] // each["multiple"]) * each["multiple"] for each in ranges}]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task")
    parser.add_argument("program")
    parser.add_argument("library", help="the `library` that optimize --json names")
    parser.add_argument("-o", "--out", required=True)
    parser.add_argument("--at", action="append", type=json.loads)
    parser.add_argument("--no-compile", action="store_true", help="without torch.compile(dynamic=True)")
    options = parser.parse_args()
    spec = importlib.util.spec_from_file_location("timed_task", options.task)
    task = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(task)
    manifest = json.loads(pathlib.Path(options.program, "manifest.json").read_text())
    torch.manual_seed(42)
    model = task.Model(*task.get_init_inputs()).cuda()
    state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    library = ctypes.CDLL(options.library)
    library.stitch_last_error.restype = ctypes.c_char_p
    program = ctypes.c_void_p()
    weights = [state[each["data"]].detach().contiguous() for each in manifest["parameters"]]
    if library.stitch_create(pack(weights), len(weights), 0, ctypes.byref(program)):
        sys.exit(library.stitch_last_error().decode())
    ranges = manifest.get("sizes", [])
    places = {each["name"]: each["places"] for each in ranges}
    compiled = None if options.no_compile else torch.compile(model, dynamic=True)
    rows = []
    for sizes in options.at or (drawn(ranges) if ranges else [{}]):
        inputs = [tensor.cuda().contiguous() for tensor in sizes_of.resized(task.get_inputs(), sizes, places if sizes else {})]
        outputs = [
            torch.empty([evaluate(n, sizes) for n in each["shape"]], dtype=DTYPES[each["dtype"]], device="cuda") for each in manifest["outputs"]
        ]
        stream = torch.cuda.Stream()
        given = program, pack(inputs), len(inputs), pack(outputs), len(outputs), ctypes.c_void_p(stream.cuda_stream)
        with torch.no_grad(), torch.cuda.stream(stream):
            want = model(*inputs)
            torch.cuda.synchronize()
            begin = time.perf_counter()
            if library.stitch_run(*given):
                sys.exit(library.stitch_last_error().decode())
            torch.cuda.synchronize()
            row = {"sizes": sizes, "first_ms": (time.perf_counter() - begin) * 1e3}
            row["distance"] = ((outputs[0].double() - want.double()).norm() / want.double().norm()).item()
            row["ours"] = clock(lambda given=given: library.stitch_run(*given))
            row["eager"] = clock(lambda inputs=inputs: model(*inputs))
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream):
                model(*inputs)
            row["eager_graph"] = clock(graph.replay)
            if compiled:
                row["compile_dynamic"] = clock(lambda inputs=inputs: compiled(*inputs), 10)
        rows.append(row)
        print(json.dumps(row), flush=True)
    pathlib.Path(options.out).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
