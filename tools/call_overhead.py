#!/usr/bin/env python3
"""What a call from Python costs beyond replaying a CUDA graph of the same program, for ten models.

    tools/call_overhead.py                        # on a GPU; programs are made first, a few at a time
    tools/call_overhead.py --models mlp resnet18  # examples/NAME.py, torchvision:NAME or transformers:bert
    tools/call_overhead.py --stub                 # no GPU: the Python side alone, over a program that does nothing

A call is timed with the GPU idle before and after it (wall time, median). "back to back" is the host's share: many calls,
then one wait. The aim is at most 10 us over the replay.
"""

import argparse
import concurrent.futures
import json
import os
import statistics
import subprocess
import sys
import time
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "python"))

MODELS = ["mlp", "lenet5", "gru", "convnext_block", "gpt_block", "vit", "squeezenet", "resnet18", "mobilenet_v2", "t5_attention"]


def load(name, device):
    """(model, arguments, keywords), in evaluation mode."""
    import torch

    torch.manual_seed(0)
    if name.startswith("torchvision:"):
        import torchvision

        model, arguments, keywords = getattr(torchvision.models, name.split(":")[1])(), (torch.rand(1, 3, 224, 224),), {}
    elif name == "transformers:bert":
        from transformers import BertConfig, BertModel

        model = BertModel(BertConfig(hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024))
        arguments, keywords = (), {"input_ids": torch.randint(0, 1000, (1, 64)), "attention_mask": torch.ones(1, 64, dtype=torch.int64)}
    else:
        from stitchcuda_torch.task.task import Task

        task = Task(os.path.join(ROOT, "examples", name + ".py"), mode="eval")
        model = task.construct()
        arguments, keywords = task.make_inputs()
    move = lambda value: torch.utils._pytree.tree_map(lambda leaf: leaf.to(device) if isinstance(leaf, torch.Tensor) else leaf, value)  # noqa: E731
    return model.to(device).eval(), tuple(move(tuple(arguments))), move(keywords)


def options():
    return {"quick": True, "budget": 1, "progress": False, "options": ["--no-timing", "--no-tune"]}


def compiled_form(model):
    """torch.compile's form of it. Its graph has names of its own, and so a program of its own."""
    import torch

    from stitchcuda.compile import backend

    torch._dynamo.reset()
    torch._dynamo.config.allow_rnn = True  # else it looks into no model with a recurrence
    return torch.compile(model, backend=backend, options=options())


def prepare(name, device):
    """Makes the program, which the cache then has."""
    import torch

    import stitchcuda

    name, _, form = name.partition("+")
    model, arguments, keywords = load(name, device)
    if not form:
        stitchcuda.optimize(model, arguments, keywords, **options())
        return
    warnings.filterwarnings("error", message="stitchcuda: this graph runs in PyTorch")
    with torch.inference_mode():
        compiled_form(model)(*arguments, **keywords)


def prepare_all(names, device, jobs, seconds):
    """In processes of their own, until the time is up; what is not ready, with its last words."""
    end, failed = time.monotonic() + seconds, {}

    def one(name):
        left = end - time.monotonic()
        if left < 5:
            return "no time left"
        try:
            done = subprocess.run([sys.executable, __file__, "--prepare", name, "--device", device], capture_output=True, text=True, timeout=left)
            return "" if done.returncode == 0 else " ".join(done.stderr.split())[-240:]
        except subprocess.TimeoutExpired:
            return "took too long to make"

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for name, said in zip(names, pool.map(one, names)):
            if said:
                failed[name] = said
    return failed


def wall(call, wait, count=200):
    """Median of single calls, device idle before and after; and the host's time a call, back to back. In us."""
    for _ in range(20):
        call()
    wait()
    samples = []
    for _ in range(count):
        begin = time.perf_counter()
        call()
        wait()
        samples.append(time.perf_counter() - begin)
    begin = time.perf_counter()
    for _ in range(count):
        call()
    host = (time.perf_counter() - begin) / count
    wait()
    return statistics.median(samples) * 1e6, host * 1e6


def measure(name, with_compile):
    import torch

    import stitchcuda

    model, arguments, keywords = load(name, "cuda")
    fast = stitchcuda.optimize(model, arguments, keywords, **options())
    with torch.inference_mode():
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            fast(*arguments, **keywords)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            fast(*arguments, **keywords)
        wait = torch.cuda.synchronize
        replay, replay_host = wall(graph.replay, wait)
        called, called_host = wall(lambda: fast(*arguments, **keywords), wait)
        eager, _ = wall(lambda: model(*arguments, **keywords), wait, 50)
        row = {
            "model": name,
            "weights": len(fast._binding.parameters),
            "eager": eager,
            "replay": replay,
            "call": called,
            "over": called - replay,
            "replay_host": replay_host,
            "call_host": called_host,
        }
        if with_compile:
            compiled = compiled_form(model)
            row["compiled"], _ = wall(lambda: compiled(*arguments, **keywords), wait)
    return row


def measure_stub(name):
    """The Python side alone: CPU tensors, and a library whose stitch_run returns at once."""
    import torch

    import stitchcuda
    from stitchcuda.testdata import fake_search

    model, arguments, keywords = load(name, "cpu")
    with fake_search.Installed() as fake:
        fake.connect = lambda *_: None
        before = stitchcuda.optimizing.check.check
        stitchcuda.optimizing.check.check = lambda *_: None
        fast = stitchcuda.optimize(model, arguments, keywords, progress=False)
        stitchcuda.optimizing.check.check = before
        with torch.inference_mode():
            fast(*arguments, **keywords)
            count, best = 500, []
            for _ in range(7):
                begin = time.thread_time()
                for _ in range(count):
                    fast(*arguments, **keywords)
                best.append((time.thread_time() - begin) / count * 1e6)
            begin = time.thread_time()
            for _ in range(count):
                fast._call.is_current()
            weights = (time.thread_time() - begin) / count * 1e6
        return {"model": name, "weights": len(fast._binding.parameters), "call": min(best), "of which weights": weights}


def show(rows):
    if not rows:
        return
    columns = list(max(rows, key=len))
    print(" | ".join(columns))
    for row in rows:
        print(" | ".join(f"{row.get(c):.1f}" if isinstance(row.get(c), float) else str(row.get(c, "")) for c in columns))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--stub", action="store_true")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=600, help="total time limit in seconds (default: 600)")
    parser.add_argument("--compile", action="store_true", help="also measure torch.compile(backend='stitchcuda')")
    parser.add_argument("--prepare", help=argparse.SUPPRESS)
    parser.add_argument("--device", default="cuda", help=argparse.SUPPRESS)
    parser.add_argument("--json", help="write the rows to this file")
    chosen = parser.parse_args()
    begin = time.monotonic()
    if chosen.prepare:
        prepare(chosen.prepare, chosen.device)
        return 0
    rows, failed = [], {}
    if chosen.stub:
        rows = [measure_stub(name) for name in chosen.models]
    else:
        import torch

        if not torch.cuda.is_available():
            sys.exit("call_overhead: no GPU on this machine; --stub measures the Python side alone")
        wanted = chosen.models + ([name + "+compile" for name in chosen.models] if chosen.compile else [])
        failed = prepare_all(wanted, "cuda", chosen.jobs, chosen.seconds * 0.75)
        for name in chosen.models:
            if name in failed:
                continue
            try:
                rows.append(measure(name, chosen.compile and name + "+compile" not in failed))
                print(f"{name} measured after {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
            except Exception as error:  # one model's trouble is not the others'
                failed[name] = f"{type(error).__name__}: {error}"[:200]
    if chosen.json:
        with open(chosen.json, "w") as file:
            json.dump({"rows": rows, "failed": failed}, file, indent=1)
    for name, why in failed.items():
        print(f"{name}: {why}")
    show(rows)
    return 0 if rows and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
