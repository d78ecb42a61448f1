"""What one call made the GPU do: kernels, copies and fills, as PyTorch's profiler saw them."""

import json
import os
import tempfile

import torch

KINDS = ("kernel", "gpu_memcpy", "gpu_memset")


def record(call):
    """[{"name", "start_ns", "end_ns", "grid", "block", "registers", "shared_bytes"}], by start, the first at 0."""
    wanted = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=wanted) as profile:
        call()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(path)
        with open(path) as file:
            return read(json.load(file))


def read(trace):
    events = [event for event in trace["traceEvents"] if event.get("cat") in KINDS and "dur" in event]
    events.sort(key=lambda event: event["ts"])
    return [activity(event, events[0]["ts"]) for event in events]


def activity(event, origin):
    facts = event.get("args", {})
    return {"name": event["name"], "start_ns": round((event["ts"] - origin) * 1000),
            "end_ns": round((event["ts"] - origin + event["dur"]) * 1000),
            "grid": list(facts.get("grid", [0, 0, 0])), "block": list(facts.get("block", [0, 0, 0])),
            "registers": facts.get("registers per thread", 0), "shared_bytes": facts.get("shared memory", 0)}
