"""Constructor arguments on their way to a process that must not see the task."""

import torch

from .errors import TaskError, first_line


def write_arguments(task, out):
    """A file that torch.load(weights_only=True) reads: {"positional": [...], "keyword": {...}}."""
    arguments = task.constructor_arguments()
    keyword = isinstance(arguments, dict)
    content = {"positional": [] if keyword else list(arguments), "keyword": arguments if keyword else {}}
    try:
        torch.save(content, out)
        torch.load(out, map_location="cpu", weights_only=True)
    except OSError as error:
        raise TaskError("disk", f"cannot write {out}: {error.strerror}") from error
    except Exception as error:
        raise TaskError("constructor", f"get_init_inputs() returns what can't be handed on: {first_line(error)}", "",
                        "Return numbers, strings, tensors, and lists, tuples and dictionaries of them.") from error
    return {"count": len(content["positional"]) + len(content["keyword"])}


def read_arguments(path):
    """(positional, keyword)."""
    content = torch.load(path, map_location="cpu", weights_only=True)
    return tuple(content["positional"]), dict(content["keyword"])
