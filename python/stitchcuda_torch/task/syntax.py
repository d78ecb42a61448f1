"""Whether a task is Python: known before PyTorch is imported, which takes seconds."""

import json
import os
import select

from ..base.errors import TaskError


def compile_file(file):
    path = os.path.abspath(file)
    try:
        with open(path, "rb") as stream:
            source = stream.read()
    except OSError as error:
        raise TaskError("file", f"cannot read {file}: {error.strerror}", str(file), "Check the path and its permissions.") from error
    try:
        return compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise syntax_error(file, error) from error


def syntax_error(file, error):
    name = os.path.basename(file)
    line = getattr(error, "lineno", None)
    if not line:
        return TaskError("syntax", f"{name} is not Python: {error}", name, "")
    text = (error.text or "").strip().rstrip(":")
    place = f"{name}:{line}:{error.offset or 1}"
    return TaskError("syntax", f"{type(error).__name__}: {error.msg}", f"{place}: {text}" if text else place, "Correct this line.")


def check_waiting(requests, channel):
    """Answers a server's first request at once, if it waits already and its task is not Python."""
    if not select.select([requests], [], [], 0)[0]:
        return
    line, end, _ = requests.buffer.peek().partition(b"\n")
    try:
        compile_file(json.loads(line)["task"])
    except TaskError as error:
        requests.readline()
        channel.error(error)
    except (ValueError, TypeError, KeyError):  # no request for a task, or incomplete: reported where it is parsed
        pass
