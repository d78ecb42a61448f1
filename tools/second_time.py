#!/usr/bin/env python3
"""Seconds until the same model is a program again in a new process, beside those of PyTorch's import.

    PYTHONPATH=python python3 tools/second_time.py [--layers 12]     # the first process may take minutes without a GPU

A transformer's encoder is optimised and saved once; then, in processes of their own: optimize again, from the cache, and load.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

PROCESS = """
import json, sys, time
begin = time.perf_counter()
import torch
seconds = {"import torch": time.perf_counter() - begin}
how, folder, layers = sys.argv[1], sys.argv[2], int(sys.argv[3])

def step(name, work):
    begin = time.perf_counter()
    out = work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    seconds[name] = time.perf_counter() - begin
    return out

def model():
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, norm_first=True)
    return torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).to(device).eval()

device = "cuda" if torch.cuda.is_available() else "cpu"
if device == "cuda":
    step("start CUDA", lambda: torch.zeros(1, device=device))
x = torch.rand(2, 16, 64, device=device)
stitchcuda = step("import stitchcuda", lambda: __import__("stitchcuda"))
if how == "load":
    fast = step("load", lambda: stitchcuda.load(folder))
else:
    made = step("make the model", model)
    fast = step("optimize", lambda: stitchcuda.optimize(made, (x,), budget=1, quick=True, progress=False))
    if how == "first":
        fast.save(folder)
with torch.no_grad():
    step("first call", lambda: fast(x))
print(json.dumps(seconds))
"""


def run(how, folder, layers):
    done = subprocess.run([sys.executable, "-c", PROCESS, how, folder, str(layers)], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=12)
    layers = parser.parse_args().layers
    with tempfile.TemporaryDirectory() as folder:
        os.environ["STITCHCUDA_CACHE"] = os.path.join(folder, "cache")
        begin = time.monotonic()
        run("first", os.path.join(folder, "saved"), layers)
        print(f"first process: {time.monotonic() - begin:.1f} s", flush=True)
        for how in ("optimize", "load"):
            for _ in range(3):
                seconds = run(how, os.path.join(folder, "saved"), layers)
                print(f"{how}: " + ", ".join(f"{name} {one:.2f}" for name, one in seconds.items()) + " s", flush=True)


if __name__ == "__main__":
    main()
