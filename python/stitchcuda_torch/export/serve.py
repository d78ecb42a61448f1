"""Server mode: PyTorch is imported once (2-4 s), and every request runs in a forked child.

The child keeps state and memory of a task away from the next one, and its crash is an answer, not the end.
"""

import argparse
import functools
import gc
import json
import os
import signal
import sys

from ..base import memory, protocol, requests, start
from ..base.errors import TaskError
from ..task.preload import preload
from .run import run

MODES = ("train", "eval")


def serve(lines, channel):
    warm_up()
    gc.collect()
    gc.freeze()  # or the child's first collection would copy every page of PyTorch's objects
    try:
        for line in lines:
            if line.strip():
                answer(line, channel)
    except KeyboardInterrupt:
        return 130
    return 0


@functools.cache
def warm_up():
    """A first export loads modules that every child would otherwise load again: 0.9 s each (measured)."""
    import torch

    from . import record, trace

    program = trace.export(torch.nn.Linear(2, 2), trace.as_fake(((torch.zeros(1, 2),), {})), __file__)
    record.record(program, __file__)


def answer(line, channel):
    try:
        options = parse(line)
    except ValueError as error:
        channel.error(
            TaskError("request", f"bad request: {error}", line.strip()[:200], 'One JSON object a line: {"task": "model.py", "out": "folder"}')
        )
        return
    preload([options.task])  # the reference wants them, too, and doesn't fork
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        start.die_with(os.getppid())
        os.close(receive)
        run_child(options, send)
    os.close(send)
    finished = relay(receive, channel)
    _, status = os.waitpid(child, 0)
    if not finished:
        channel.error(crash(status))


def run_child(options, descriptor):
    code = 1
    try:
        memory.bound()
        code = run(options, protocol.Channel(descriptor))
        sys.stdout.flush()
    finally:
        os._exit(code)


def relay(descriptor, channel):
    """Passes the child's lines on; whether its last word, done or error, came through."""
    finished = False
    with os.fdopen(descriptor) as lines:
        for line in lines:
            try:
                message = json.loads(line)
            except ValueError:  # cut off by the child's death
                continue
            finished = finished or "done" in message or "error" in message
            channel.send(message)
    return finished


def crash(status):
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        reason = f"was killed by {signal.Signals(number).name}"
        fix = "Most likely the machine ran out of memory." if number == signal.SIGKILL else "A native library crashed in this task."
    else:
        reason, fix = f"ended by itself with exit code {os.WEXITSTATUS(status)}", "Does the task call os._exit()?"
    return TaskError("crash", f"the process that exported the task {reason}", "", fix)


def parse(line):
    request = json.loads(line)
    if not isinstance(request, dict):
        raise ValueError("not a JSON object")
    return options(**requests.checked(request, options))


def options(
    task: str, out: str, class_: str = None, mode: MODES = None, seed: int = 42, no_weights: bool = False, at: list = None, places: dict = None
):
    """at: other sizes, [{"sizes": {name: size}, "out": folder}, …]; places: {name: [[input, dimension], …]}."""
    return argparse.Namespace(task=task, out=out, class_name=class_, mode=mode, seed=seed, no_weights=no_weights, at=at or [], places=places or {})
