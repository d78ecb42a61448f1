"""Points at the user's line: from an exception, or from the stack that export kept with a node."""

import functools
import linecache
import os
import re
import traceback

from .. import FOLDER

FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)(?:\n(?!\s*File ")\s*(?P<code>[^\n]*))?')


def describe(file, line, function, code):
    text = f"{os.path.basename(file)}:{line}, in {function}"
    return f"{text}: {code.strip()}" if code and code.strip() else text


def of_exception(error, task_file):
    """The innermost line of the task's file that the exception passed through; "" if none."""
    task_file = os.path.abspath(task_file)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if os.path.abspath(f.filename) == task_file]
    if not frames:
        return ""
    last = frames[-1]
    return describe(last.filename, last.lineno, last.name, last.line)


def inside_library(error, task_file):
    """The innermost line outside of PyTorch, where that isn't the task's own file: where a library's model failed."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if is_of_library(f.filename) and f.name != "<module>"]
    if not frames or os.path.abspath(frames[-1].filename) == os.path.abspath(task_file):
        return ""
    last = frames[-1]
    return describe(last.filename, last.lineno, last.name, last.line)


def is_of_library(file):
    """Neither PyTorch's nor one of this package, which stands between the two while a model is traced."""
    return f"{os.sep}torch{os.sep}" not in file and not file.startswith(("<", FOLDER + os.sep))


def of_function(function):
    code = function.__code__
    return describe(code.co_filename, code.co_firstlineno, code.co_name, linecache.getline(code.co_filename, code.co_firstlineno))


@functools.lru_cache(maxsize=4096)
def of_stack_trace(stack_trace, task_file):
    """The innermost line of the task's file, else of the library the node comes from."""
    frames = list(FRAME.finditer(stack_trace or ""))
    if not frames:
        return ""
    own = [f for f in frames if os.path.abspath(f["file"]) == task_file]
    last = (own or frames)[-1]
    return describe(last["file"], last["line"], last["function"], last["code"])


def library_of_stack_trace(stack_trace, task_file):
    """The innermost line outside of PyTorch, where that isn't the task's own file; "" otherwise."""
    frames = [f for f in FRAME.finditer(stack_trace or "") if is_of_library(f["file"])]
    if not frames or os.path.abspath(frames[-1]["file"]) == task_file:
        return ""
    last = frames[-1]
    return describe(last["file"], last["line"], last["function"], last["code"])
