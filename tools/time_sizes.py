#!/usr/bin/env python3
"""A program for ranges of sizes beside PyTorch, at sizes drawn at random and at both ends: time_sizes.py TASK.py LIBRARY -o FILE

    tools/models/make_tasks.py -o tasks bert resnet50 vit_b_16 own_u_net own_dlrm own_lstm own_decoder_step
    stitchcuda optimize tasks/transformers_bert.py -o bert --dynamic batch=x:0=1..16 --dynamic length=x:1=1..512 --json >bert.json
    tools/time_sizes.py tasks/transformers_bert.py "$(jq -r .library bert.json)" -o times.json

Times are medians by CUDA events. --at '{"batch": 6}' (several times) instead of drawn sizes; a program for one size has its own.
"""

import argparse
import json
import math
import pathlib
import random
import time

import torch
from program_library import Program, empty  # which finds stitchcuda_torch, too

from stitchcuda_torch.task import sizes as sizes_of
from stitchcuda_torch.task.task import load_module


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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task")
    parser.add_argument("library", help="the `library` that optimize --json names")
    parser.add_argument("-o", "--out", required=True)
    parser.add_argument("--at", action="append", type=json.loads)
    parser.add_argument("--no-compile", action="store_true", help="without torch.compile(dynamic=True)")
    options = parser.parse_args()
    task, program = load_module(options.task), Program(options.library)
    torch.manual_seed(42)
    model = task.Model(*task.get_init_inputs()).cuda()
    state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    program.create([state[each["data"]].detach().contiguous() for each in program.manifest["parameters"]])
    ranges = program.ranges.all
    compiled = None if options.no_compile else torch.compile(model, dynamic=True)
    rows = []
    for sizes in options.at or (drawn(ranges) if ranges else [{}]):
        places = {each["name"]: each["places"] for each in ranges} if sizes else {}
        inputs = [tensor.cuda().contiguous() for tensor in sizes_of.resized(task.get_inputs(), sizes, places)]
        outputs, stream = [empty(entry) for entry in program.entries("outputs", sizes)], torch.cuda.Stream()
        run = program.bound(inputs, outputs, stream.cuda_stream)
        with torch.no_grad(), torch.cuda.stream(stream):
            want = model(*inputs)
            torch.cuda.synchronize()
            begin = time.perf_counter()
            run()
            torch.cuda.synchronize()
            row = {"sizes": sizes, "first_ms": (time.perf_counter() - begin) * 1e3}
            row["distance"] = ((outputs[0].double() - want.double()).norm() / want.double().norm()).item()
            row["ours"] = clock(run)
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
