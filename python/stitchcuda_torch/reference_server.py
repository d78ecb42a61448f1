"""python -m stitchcuda_torch.reference_server: PyTorch's answers for one task, on request (README: the reference).

One JSON request a line on stdin, one JSON answer a line on what was stdout; state is kept between requests. It is
never forked and holds no secret but the seeds of requests: who compares, decides and scores is who asks.
"""

import gc
import os
import sys

from . import protocol, requests
from .errors import TaskError, environment_error, first_line
from .export import import_torch
from .serve import die_with


def main():
    parent = os.getppid()
    channel = protocol.take_stdout()
    protocol.quiet_libraries()
    die_with(parent)
    lines = os.fdopen(os.dup(0), "r")
    protocol.close_stdin()
    try:
        channel.progress("loading PyTorch")
        import_torch()
        from .answers import Answers
    except TaskError as error:
        channel.error(error)
        return 2
    gc.freeze()  # what PyTorch made of itself is here to stay, and memory is looked for after every gigabyte
    return serve(lines, channel, Answers(channel.progress))


def serve(lines, channel, answers):
    try:
        for line in lines:
            if line.strip():
                channel.send(answer(line, answers))
    except KeyboardInterrupt:
        return 130
    return 0


def answer(line, answers):
    try:
        name, fields = requests.parse(line, answers.TABLE)
    except ValueError as error:
        return failure(TaskError("request", f"bad request: {error}", line.strip()[:200]))
    try:
        return {"ok": True, **getattr(answers, name)(**fields)}
    except KeyboardInterrupt:
        raise
    except TaskError as error:
        return failure(answers.lost_device() or error)
    except BaseException as error:
        known = answers.lost_device() or environment_error(error, "")
        return failure(known or TaskError("reference", f"{type(error).__name__}: {first_line(error)}", "",
                                          "This is a fault of StitchCUDA's reference; please report it with the task."))


def failure(error):
    return {"error": error.as_json()}


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # leaves no time for other people's exit handlers to print or to hang
