#!/usr/bin/env python3
"""Does memory save attempts? Each task is optimised twice with one store, which is empty before.

    tools/memory_between_runs.py                             # 20 small tasks on this machine's device
    tools/memory_between_runs.py --device emulated --jobs 2  # without a GPU: estimates decide
    tools/memory_between_runs.py --tasks FOLDER --first 20   # tasks of yours

Counted are programs that were judged until one was as good as the first run's best (on a GPU: within 5 %, which is the
clock's spread). The aim is at most half of them in the second run. Also shown: the loop's own share of the time, without
builds, runs and the reference; the aim is 2 %.
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

TASK = '''import torch
from torch import nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {layers}

    def forward(self, x):
        {forward}


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn({shape})]
'''
# name: (layers, forward, shape of the input)
TASKS = {
    "linear_gelu": ("self.fc = nn.Linear(48, 64)", "return F.gelu(self.fc(x))", "8, 48"),
    "two_linear": ("self.a, self.b = nn.Linear(32, 64), nn.Linear(64, 24)", "return self.b(torch.relu(self.a(x)))", "16, 32"),
    "linear_softmax": ("self.fc = nn.Linear(40, 32)", "return torch.softmax(self.fc(x), -1)", "12, 40"),
    "layer_norm_linear": ("self.norm, self.fc = nn.LayerNorm(64), nn.Linear(64, 32)", "return self.fc(self.norm(x))", "16, 64"),
    "residual": ("self.fc = nn.Linear(64, 64)", "return x + torch.tanh(self.fc(x))", "16, 64"),
    "gated": ("self.a, self.b = nn.Linear(32, 48), nn.Linear(32, 48)", "return F.silu(self.a(x)) * self.b(x)", "16, 32"),
    "conv_relu": ("self.conv = nn.Conv2d(3, 8, 3, padding=1)", "return torch.relu(self.conv(x))", "2, 3, 12, 12"),
    "conv_norm_relu": ("self.conv, self.norm = nn.Conv2d(4, 8, 3), nn.BatchNorm2d(8).eval()", "return torch.relu(self.norm(self.conv(x)))", "2, 4, 10, 10"),
    "conv_pool_linear": ("self.conv, self.fc = nn.Conv2d(3, 6, 3), nn.Linear(6, 10)", "return self.fc(self.conv(x).relu().mean((2, 3)))", "4, 3, 9, 9"),
    "depthwise": ("self.a, self.b = nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Conv2d(8, 16, 1)", "return self.b(F.relu6(self.a(x)))", "2, 8, 8, 8"),
    "attention": ("self.qkv = nn.Linear(32, 96)", "q, k, v = self.qkv(x).view(2, 16, 3, 2, 16).permute(2, 0, 3, 1, 4)\n        return F.scaled_dot_product_attention(q, k, v)", "2, 16, 32"),
    "scores": ("self.scale = 0.25", "return torch.softmax(x @ x.transpose(1, 2) * self.scale, -1) @ x", "2, 24, 16"),
    "mlp_mixer": ("self.a, self.b = nn.Linear(24, 24), nn.Linear(32, 32)", "return self.b(x + self.a(x.transpose(1, 2)).transpose(1, 2))", "2, 24, 32"),
    "gru": ("self.rnn = nn.GRU(16, 16, batch_first=True)", "return self.rnn(x)[0]", "2, 6, 16"),
    "rms_norm": ("self.weight = nn.Parameter(torch.ones(64))", "return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * self.weight", "16, 64"),
    "group_norm": ("self.norm = nn.GroupNorm(2, 8)", "return F.silu(self.norm(x)) * 2", "2, 8, 6, 6"),
    "branches": ("self.a, self.b = nn.Conv2d(4, 4, 1), nn.Conv2d(4, 8, 3, padding=1)", "return torch.cat([self.a(x), self.b(x)], 1).relu()", "2, 4, 8, 8"),
    "logsumexp": ("self.fc = nn.Linear(32, 48)", "return torch.logsumexp(self.fc(x) * 0.5, 1) + x.sum(1)", "16, 32"),
    "upsample": ("self.conv = nn.Conv2d(3, 3, 3, padding=1)", "return self.conv(F.interpolate(x, scale_factor=2)).sigmoid()", "1, 3, 6, 6"),
    "squeeze_excite": ("self.a, self.b = nn.Linear(8, 4), nn.Linear(4, 8)", "return x * torch.sigmoid(self.b(torch.relu(self.a(x.mean((2, 3))))))[:, :, None, None]", "2, 8, 7, 7"),
}


def write_tasks(folder):
    os.makedirs(folder)
    for name, (layers, forward, shape) in TASKS.items():
        with open(os.path.join(folder, name + ".py"), "w", encoding="utf-8") as file:
            file.write(TASK.format(layers=layers, forward=forward, shape=shape))


def optimise(options, folder, run, task):
    """The run's document; with "error" where there is none."""
    name = os.path.basename(task)[:-3]
    command = [options.tool, "optimize", task, "-o", os.path.join(folder, run, name), "--store", os.path.join(folder, "runs.db"), "--budget",
               str(options.budget), "--no-tune", "--quick", "--baselines", "none", "--json", *options.more]
    if options.device:
        command += ["--device", options.device]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"error": f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"}


def attempts_until(steps, seconds):
    """(attempts until a kept program took at most so many seconds, or None; attempts in all; the best's seconds)."""
    count, best, reached = 0, None, None
    for step in steps:
        count += step["tries"]
        if step["kept"] and step["after_seconds"] > 0:
            best = min(best or step["after_seconds"], step["after_seconds"])
            if reached is None and best <= seconds:
                reached = count
    return reached, count, best


def compare(first, second, spread):
    """A row of the table, from the two runs' documents."""
    for document in (first, second):
        if "ledger" not in document:
            error = document.get("error", "no ledger")
            return {"failed": error.get("message", str(error)) if isinstance(error, dict) else error}
    _, _, best = attempts_until(first["ledger"]["steps"], 0)
    if best is None:
        return {"failed": "the first run kept no program"}
    row = {"best": best}
    for name, document, limit in (("first", first, best), ("second", second, best * (1 + spread))):
        reached, count, seconds = attempts_until(document["ledger"]["steps"], limit)
        row[name] = {"reached": reached, "attempts": count, "best": seconds, "seconds": document["seconds"], "own_seconds": document["own_seconds"]}
    return row


def told(rows):
    """The table's lines, and whether both aims are met."""
    lines, first, second, own, seconds, missed = [], 0, 0, 0.0, 0.0, 0
    for name, row in rows.items():
        if "failed" in row:
            lines.append(f"{name:20} failed: {row['failed']}")
            missed += 1
            continue
        one, two = row["first"], row["second"]
        never = two["reached"] is None
        missed += never
        first += one["reached"]
        second += two["attempts"] if never else two["reached"]
        own += one["own_seconds"] + two["own_seconds"]
        seconds += one["seconds"] + two["seconds"]
        lines.append(f"{name:20} first {one['reached']} of {one['attempts']} attempts, {one['best'] * 1e6:.1f} us;  second "
                     f"{'never' if never else two['reached']} of {two['attempts']}, {two['best'] * 1e6 if two['best'] else 0:.1f} us;  "
                     f"own {one['own_seconds']:.2f} of {one['seconds']:.0f} s, {two['own_seconds']:.2f} of {two['seconds']:.0f} s")
    lines.append(f"{len(rows)} tasks: attempts to the first run's best: first {first}, second {second}; not reached or failed: {missed}; "
                 f"the loop's own share of the time {100 * own / seconds if seconds else 0:.2f} %")
    return lines, bool(rows) and missed == 0 and 2 * second <= first and own <= 0.02 * seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default="stitchcuda")
    parser.add_argument("--tasks", help="a folder of tasks (default: 20 small ones, made here)")
    parser.add_argument("--first", type=int, default=20, help="how many of them (default: 20)")
    parser.add_argument("--device", choices=("cuda", "emulated"), help="(default: cuda if there is a GPU)")
    parser.add_argument("--jobs", type=int, default=2, help="runs at once (default: 2)")
    parser.add_argument("--budget", type=int, default=120, help="seconds of each run (default: 120)")
    parser.add_argument("--json", help="write the rows to this file")
    options, options.more = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="sc-memory-") as folder:
        if not options.tasks:
            options.tasks = os.path.join(folder, "tasks")
            write_tasks(options.tasks)
        tasks = sorted(os.path.join(options.tasks, name) for name in os.listdir(options.tasks) if name.endswith(".py"))[:options.first]
        documents = {}
        for run in ("first", "second"):
            with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                for task, document in zip(tasks, pool.map(lambda task, run=run: optimise(options, folder, run, task), tasks)):
                    documents[run, task] = document
                    print(f"{run} {os.path.basename(task)}: {document.get('seconds', 0):.0f} s", file=sys.stderr, flush=True)
        emulated = all(document.get("device", "emulated") == "emulated" for document in documents.values())
        rows = {os.path.basename(task)[:-3]: compare(documents["first", task], documents["second", task], 1e-6 if emulated else 0.05) for task in tasks}
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    lines, good = told(rows)
    print("\n".join(lines))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
