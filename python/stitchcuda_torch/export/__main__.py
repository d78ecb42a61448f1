"""python -m stitchcuda_torch.export TASK.py --out DIR: writes DIR/aten.json and DIR/weights.safetensors."""

import argparse
import os

from ..base import protocol, start
from ..base.errors import TaskError
from ..task.syntax import check_waiting, compile_file
from .run import run
from .serve import serve


def main(arguments):
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
        start.import_torch()
    except TaskError as error:
        channel.error(error)
        return 2
    if options.serve:
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
    parser.set_defaults(at=[], places={})  # of requests alone
    options = parser.parse_args(arguments)
    if not options.serve and not (options.task and options.out):
        parser.error("a task and --out are needed")
    return options


if __name__ == "__main__":
    start.run("export", main)
