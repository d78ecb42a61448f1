"""What one call made the GPU and the host's CUDA API do, as PyTorch's profiler saw it: src/runner/activity.h as JSON."""

import json
import os
import tempfile

import torch

KINDS = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "fill"}
HOST = ("cuda_runtime", "cuda_driver")


def profiler(device="cuda"):
    """What torch.profiler.profile is made of. That one imports Inductor, and SymPy with it, only to ask whether it
    makes CUDA graphs: 804 modules, 5 s in each candidate's process."""
    return torch.autograd.profiler.profile(use_kineto=True, use_cpu=device == "cpu", use_device=None if device == "cpu" else device)


def warm_up():
    """The first profile of a process takes longer, nearly all of it on the host; this one is discarded."""
    record(lambda: torch.zeros(1, device="cuda"))


def record(call, host_calls=False):
    """[{"name", "kind", "start_ns", "end_ns", "stream", …}], by start, the first at 0."""
    torch.cuda.synchronize()  # earlier work is not part of this call
    with profiler() as profile:
        call()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(path)
        with open(path) as file:
            return read(json.load(file), host_calls)


def read(trace, host_calls=False):
    """From a Chrome trace of PyTorch's profiler."""
    wanted = (*KINDS, *HOST) if host_calls else tuple(KINDS)
    events = [event for event in trace["traceEvents"] if event.get("cat") in wanted and "dur" in event]
    events.sort(key=lambda event: event["ts"])
    return [activity(event, events[0]["ts"]) for event in events]


def activity(event, origin):
    facts = event.get("args", {})
    start = round((event["ts"] - origin) * 1000)
    out = {"name": event["name"], "kind": kind_of(event), "start_ns": start, "end_ns": start + max(0, round(event["dur"] * 1000))}
    if event["cat"] in HOST:
        out["stream"] = whole(event.get("tid"))
    else:
        out.update(
            stream=whole(facts.get("stream")),
            grid=triple(facts.get("grid")),
            block=triple(facts.get("block")),
            registers=whole(facts.get("registers per thread")),
            shared_bytes=whole(facts.get("shared memory")),
            bytes=whole(facts.get("bytes")),
            in_graph=bool(facts.get("graph node id") or facts.get("graph id")),
        )
    out["correlation"] = whole(facts.get("correlation"))
    return out


def kind_of(event):
    if event["cat"] in KINDS:
        return KINDS[event["cat"]]
    return "graph launch" if "GraphLaunch" in event["name"] else "host call"


def whole(value):
    """A number that PyTorch may write as text, or leave out."""
    try:
        return int(value)
    except (TypeError, ValueError):
        return 0


def triple(value):
    return [int(size) for size in value] if isinstance(value, list) and len(value) == 3 else [0, 0, 0]
