"""Exports one task: aten.json and weights.safetensors in a folder."""

import json
import os
import time

from ..base.errors import TaskError, known_or_ours


def run(options, channel):
    """Exports one task; the exit code. The last line sent is always `done` or `error`."""
    start = time.monotonic()
    try:
        export_task(options, channel.progress)
        channel.done({"seconds": round(time.monotonic() - start, 3)})
        return 0
    except KeyboardInterrupt:
        return 130
    except BaseException as error:
        channel.error(known_or_ours(error, "export", "exporter"))
        return 2


def export_task(options, progress):
    from ..task import local_modules, sizes
    from ..task.task import Task

    progress("loading the task")
    task = Task(options.task, options.class_name, options.seed, options.mode)
    if options.at:
        export_at(task, options, progress)
        return
    if hasattr(task.module, "exported"):  # a live model, exported where it lives: live.py
        task.module.exported(options.out)
        return
    progress("constructing the model")
    model = task.construct()
    progress("tracing the forward pass")
    program, facts = traced(task, model, options)
    local_modules.check(task.file)
    facts |= {"modules": local_modules.files(task.file), "elsewhere": local_modules.elsewhere(task.file), "sizes": sizes.described(task)}
    write(program, task.file, facts, options.out, not options.no_weights, progress)


OTHER_SIZES = "sizes that are always equal are one dimension with several places (batch=x:0,mask:0=1..64); a size that the model itself fixes stays out of the ranges"


def export_at(task, options, progress):
    """The graph at each of several sizes, of one model."""
    from ..task import sizes

    sizes.resize(task, {}, options.places)
    model = task.construct()
    for each in options.at:
        at = "with " + ", ".join(f"{name}={size}" for name, size in each["sizes"].items())
        progress("tracing " + at)
        sizes.resize(task, each["sizes"], options.places)
        try:
            program, facts = traced(task, model, options)
        except TaskError as error:
            error.message = f"{at}: {error.message}"
            if each is not options.at[0]:  # at its own sizes the model runs
                error.fix = OTHER_SIZES
            raise
        write(program, task.file, {**facts, "modules": [], "elsewhere": []}, each["out"], False)


def traced(task, model, options):
    """(the exported program, what the document says beside the graph)"""
    from ..task import structure
    from . import trace

    program = trace.export(model, trace.fake_inputs(task), task.file, draw=lambda i: task.make_inputs(task.seed + i))
    return program, {
        "source": options.task,
        "class": options.class_name or "Model",
        "mode": "train" if model.training else "eval",
        "seed": options.seed,
        "call": structure.describe(program, structure.Describer(task.module.__name__)),
    }


def write(program, source_file, facts, out, with_weights, progress=lambda text: None):
    from ..base import safetensors
    from . import record

    document, weights = record.record(program, source_file)
    if with_weights:
        size = sum(tensor.numel() * tensor.element_size() for tensor in weights.values())
        progress(f"writing {size / 1e6:.0f} MB of weights")
        safetensors.write(os.path.join(out, "weights.safetensors"), weights)
    path = os.path.join(out, "aten.json")
    with safetensors.disk_errors(path), open(path, "w") as file:
        json.dump({**document, **facts}, file, separators=(",", ":"))
