"""python -m stitchcuda_torch.reference: PyTorch's answers for one task, on request (README: the reference).

One JSON request a line on stdin, one JSON answer a line on what was stdout; state is kept between requests. It
holds no secrets but the seeds of requests; the orchestrator compares, decides and scores. Until a task is loaded it also
answers the exporter's requests, so that PyTorch is imported once for both.
"""

import gc
import os
import time

from ..base import protocol, requests, start
from ..base.errors import TaskError, known_or_ours
from ..export import serve as export_server
from ..task.syntax import check_waiting


def main(arguments=()):
    parent = os.getppid()
    channel = protocol.take_stdout()
    protocol.quiet_libraries()
    start.die_with(parent)
    lines = os.fdopen(os.dup(0), "r")
    protocol.close_stdin()
    try:
        check_waiting(lines, channel)
        channel.progress("loading PyTorch")
        start.import_torch()
        export_server.warm_up()
        from .answers import Answers
    except TaskError as error:
        channel.error(error)
        return 2
    gc.freeze()  # PyTorch's own objects stay: each later collection skips them
    return serve(lines, channel, Answers(channel.progress))


def serve(lines, channel, answers):
    try:
        for line in lines:
            if not line.strip():
                continue
            # Tasks are exported before they are loaded: a process that has a GPU can't be forked.
            if requests.is_for(line, export_server.options) and answers.model.loaded is None:
                export_server.answer(line, answers.roundings.exported.overhearing(line, channel))
            else:
                channel.send(clean_up(answers, answer(line, answers)))
    except KeyboardInterrupt:
        return 130
    return 0


def answer(line, answers):
    try:
        method, fields = answers.parse(line)
    except ValueError as error:
        return failure(TaskError("request", f"bad request: {error}", line.strip()[:200]))
    begin = time.monotonic()
    try:
        found = method(**fields)
        return {"ok": True, "seconds": round(time.monotonic() - begin, 4), **found}
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return failure(answers.model.lost_device() or known_or_ours(error, "reference", "reference"))


def failure(error):
    return {"error": error.as_json()}


def clean_up(answers, reply):
    """Frees what a failed request left in memory."""
    if "error" in reply:
        answers.model.collect()
    return reply


if __name__ == "__main__":
    start.run("reference", main)
