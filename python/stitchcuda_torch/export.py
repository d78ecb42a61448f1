"""python -m stitchcuda_torch.export TASK.py --out DIR: writes DIR/aten.json and DIR/weights.safetensors."""

import argparse
import json
import os
import sys
import time

from . import protocol
from .errors import TaskError, environment_error, first_line
from .lend import borrow
from .syntax import check_waiting, compile_file

NO_TORCH_FIX = ("pip install torch; where the system's Python may not be changed, make an environment of your own first: "
                "python3 -m venv .venv && .venv/bin/pip install torch")


def main(arguments=None):
    options = parse(arguments)
    channel = protocol.take_stdout()
    protocol.quiet_libraries()
    requests = os.fdopen(os.dup(0), "r") if options.serve else None
    protocol.close_stdin()
    try:
        if options.serve:
            check_waiting(requests, channel)
        else:
            compile_file(options.task)
        channel.progress("loading PyTorch")
        import_torch()
    except TaskError as error:
        channel.error(error)
        return 2
    if options.serve:
        from .serve import serve
        return serve(requests, channel)
    return run(options, channel)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="stitchcuda_torch.export", description="Writes down a PyTorch model as aten.json.")
    parser.add_argument("task", nargs="?", help="a file with Model, get_init_inputs() and get_inputs()")
    parser.add_argument("--out", help="an existing folder")
    parser.add_argument("--class", dest="class_name", help="the model's class, if it isn't Model")
    parser.add_argument("--eval", dest="mode", action="store_const", const="eval", help="export in evaluation mode")
    parser.add_argument("--train", dest="mode", action="store_const", const="train", help="export in training mode")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--no-weights", action="store_true", help="don't write weights.safetensors")
    parser.add_argument("--serve", action="store_true", help="read one JSON request a line from stdin")
    options = parser.parse_args(arguments)
    if not options.serve and not (options.task and options.out):
        parser.error("a task and --out are needed")
    return options


def import_torch():
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise TaskError("no_torch", f"PyTorch is not installed for {sys.executable}: {first_line(error)}", "", NO_TORCH_FIX) from error


def run(options, channel):
    """Exports one task; the exit code. The last line sent is always `done` or `error`."""
    try:
        channel.done(export_task(options, channel.progress))
        return 0
    except KeyboardInterrupt:
        return 130
    except TaskError as error:
        channel.error(error)
    except BaseException as error:
        known = environment_error(error, "")
        channel.error(known or TaskError("export", f"{type(error).__name__}: {first_line(error)}", "",
                                         "This is a fault of StitchCUDA's exporter; please report it with the task."))
    return 2


def export_task(options, progress):
    from . import local_modules, structure, trace
    from .task import Task
    start = time.monotonic()
    progress("loading the task")
    task = Task(options.task, options.class_name, options.seed, options.mode)
    if hasattr(task.module, "exported"):  # a live model, exported where it lives: live.py
        return {**task.module.exported(options.out), "seconds": round(time.monotonic() - start, 3)}
    progress("constructing the model")
    model = task.construct()
    progress("tracing the forward pass")
    inputs = trace.fake_inputs(task)
    program = trace.export(model, inputs, task.file, draw=lambda i: task.make_inputs(task.seed + i))
    local_modules.check(task.file)
    facts = {"source": options.task, "class": options.class_name or "Model", "mode": "train" if model.training else "eval",
             "seed": options.seed, "call": structure.describe(program, task.module),
             "modules": local_modules.files(task.file), "elsewhere": local_modules.elsewhere(task.file)}
    summary = write(program, task.file, facts, options.out, not options.no_weights, progress)
    return {**summary, "seconds": round(time.monotonic() - start, 3)}


def write(program, source_file, facts, out, with_weights, progress=lambda text: None):
    from . import record, safetensors
    document, weights = record.record(program, source_file)
    document = {**document, **facts}
    size = sum(tensor.numel() * tensor.element_size() for tensor in weights.values())
    if with_weights:
        progress(f"writing {size / 1e6:.0f} MB of weights")
        safetensors.write(os.path.join(out, "weights.safetensors"), weights)
    path = os.path.join(out, "aten.json")
    try:
        with open(path, "w") as file:
            json.dump(document, file, separators=(",", ":"))
    except OSError as error:
        raise TaskError("disk", f"cannot write {path}: {error.strerror}", "",
                        "Free some space, or choose another output folder.") from error
    return {"name": document["name"], "nodes": len(document["nodes"]), "weights_bytes": size}


if __name__ == "__main__":
    code = borrow("export", sys.argv[1:])
    code = main() if code is None else code
    sys.stdout.flush()
    os._exit(code)  # leaves no time for other people's exit handlers to print or to hang
