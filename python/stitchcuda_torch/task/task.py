"""Loads a task: a Python file with a Model, get_init_inputs() and get_inputs(), as KernelBench writes them."""

import importlib.util
import inspect
import os
import re
import sys

import torch

from ..base.errors import TaskError, environment_error, first_line
from . import structure, where
from .syntax import compile_file


class Task:
    """A loaded file. Every step that runs the user's code turns its exceptions into a TaskError."""

    def __init__(self, file, class_name=None, seed=42, mode=None):
        self.file, self.seed, self.mode = os.path.abspath(file), seed, mode
        self.module = load_module(file)
        self.model_class = _find_class(self, class_name)

    def construct(self):
        """KernelBench's rule: the same seed before the constructor's arguments and before the constructor.

        mode: "train" or "eval"; without one the model stays as its constructor left it, which is training as a rule.
        """
        arguments = self.constructor_arguments()
        with self.stage("constructor", f"{self.model_class.__name__}(...) failed"):
            torch.manual_seed(self.seed)
            model = self.model_class(**arguments) if isinstance(arguments, dict) else self.model_class(*arguments)
            if self.mode:
                model.train(self.mode == "train")
        return model

    def constructor_arguments(self):
        with self.stage("constructor", "get_init_inputs() failed"):
            torch.manual_seed(self.seed)
            return self.module.get_init_inputs()

    def make_inputs(self, seed=None, device="cpu"):
        """(positional, keyword). device: where tensors are made that name none; a GPU draws billions in no time."""
        with self.stage("inputs", "get_inputs() failed"), torch.device(device):
            torch.manual_seed(self.seed if seed is None else seed)
            inputs = self.module.get_inputs()
        return self.fit(inputs)

    def fit(self, inputs):
        """(positional, keyword) of what get_inputs() returned, if forward takes that."""
        if isinstance(inputs, dict):
            positional, keyword = (), inputs
        elif isinstance(inputs, torch.Tensor):
            positional, keyword = (inputs,), {}
        elif isinstance(inputs, (list, tuple)):
            positional, keyword = tuple(inputs), {}
            if self.are_both_kinds(inputs):
                positional, keyword = tuple(inputs[0]), inputs[1]
        else:
            raise TaskError(
                "inputs",
                f"get_inputs() returned {_a(type(inputs).__name__)}: return a list, tuple or dict",
                where.of_function(self.module.get_inputs),
                "One entry for each argument of forward, in order or by name.",
            )
        structure.register((positional, keyword))
        try:
            self.forward_signature().bind(*positional, **keyword)
        except TypeError as error:
            raise TaskError(
                "inputs",
                f"get_inputs() does not fit forward{self.forward_signature()}: {error}",
                where.of_function(self.module.get_inputs),
                "Return one entry for each argument of forward: a list in order, or a dict by name.",
            ) from error
        return positional, keyword

    def are_both_kinds(self, inputs):
        """([x], {"mask": m}): only where the names are forward's, since forward may want a list and a dict."""
        if len(inputs) != 2 or not isinstance(inputs[0], (list, tuple)) or not isinstance(inputs[1], dict):
            return False
        signature = self.forward_signature()
        try:
            signature.bind(*inputs[0], **inputs[1])
        except TypeError:
            return False
        if set(inputs[1]) <= set(signature.parameters):
            return True
        try:
            signature.bind(*inputs)
        except TypeError:
            return True
        return False

    def forward_signature(self):
        signature = inspect.signature(self.model_class.forward)
        return signature.replace(parameters=list(signature.parameters.values())[1:], return_annotation=inspect.Signature.empty)

    def stage(self, kind, what):
        return Stage(self.file, kind, what)


STAGE_FIXES = {
    "load": "Run the file with Python to see the whole traceback.",
    "constructor": "Check what get_init_inputs() returns against the constructor.",
    "inputs": "Check get_inputs().",
}


class Stage:
    """Runs user code; whatever it raises, even SystemExit, becomes one clear TaskError."""

    def __init__(self, file, kind, what):
        self.file, self.kind, self.what = file, kind, what

    def __enter__(self):
        return self

    def __exit__(self, _, error, __):
        if error is None or isinstance(error, (TaskError, KeyboardInterrupt)):
            return False
        line = where.of_exception(error, self.file)
        known = environment_error(error, line)
        if known:
            raise known from error
        raise TaskError(self.kind, f"{self.what}: {type(error).__name__}: {first_line(error)}", line, STAGE_FIXES.get(self.kind, "")) from error


def write_arguments(task, out):
    """Constructor arguments on their way to a process that must not see the task: a file that torch.load(weights_only=True) reads: {"positional": [...], "keyword": {...}}."""
    arguments = task.constructor_arguments()
    keyword = isinstance(arguments, dict)
    content = {"positional": [] if keyword else list(arguments), "keyword": arguments if keyword else {}}
    try:
        torch.save(content, out)
        torch.load(out, map_location="cpu", weights_only=True)
    except OSError as error:
        raise TaskError("disk", f"cannot write {out}: {error.strerror}") from error
    except Exception as error:
        raise TaskError(
            "constructor",
            f"get_init_inputs() returns what can't be handed on: {first_line(error)}",
            "",
            "Return numbers, strings, tensors, and lists, tuples and dictionaries of them.",
        ) from error
    return {"count": len(content["positional"]) + len(content["keyword"])}


def read_arguments(path):
    """(positional, keyword)."""
    content = torch.load(path, map_location="cpu", weights_only=True)
    return tuple(content["positional"]), dict(content["keyword"])


def load_module(file):
    """Runs a Python file as a module of its own, as `python FILE` would: its folder is on sys.path."""
    path = os.path.abspath(file)
    code = compile_file(file)
    # Prefixed, so that a task called torch.py can't take torch's place.
    name = "task_" + re.sub(r"\W", "_", os.path.splitext(os.path.basename(path))[0])
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise TaskError("file", f"{file} is not a Python file", str(file), "Give a task whose name ends in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and inspect look it up
    sys.path.insert(0, os.path.dirname(path))
    with Stage(path, "load", f"{os.path.basename(file)} failed while it was loaded"):
        exec(code, module.__dict__)
    return module


def _find_class(task, class_name):
    own = [name for name, value in vars(task.module).items() if _is_module(value) and value.__module__ == task.module.__name__]
    usable = [name for name, value in vars(task.module).items() if _is_module(value)]
    name = os.path.basename(task.file)
    if class_name and class_name not in usable:
        raise TaskError(
            "class",
            f"there is no torch.nn.Module class '{class_name}'",
            name,
            f"Choose one of: {', '.join(own)}" if own else "The file defines no torch.nn.Module class.",
        )
    missing = [part for part in ("get_init_inputs", "get_inputs") if not callable(getattr(task.module, part, None))]
    if not class_name and "Model" not in usable:
        missing.insert(0, "Model")
    if not missing:
        return getattr(task.module, class_name or "Model")
    raise TaskError("missing", f"there is no {_listing(missing)}", name, _missing_fix(task, missing, own))


def _missing_fix(task, missing, own):
    there = [part for part in ("get_init_inputs", "get_inputs") if part not in missing]
    fixes = []
    if "Model" in missing:
        value = getattr(task.module, "Model", None)
        if value is not None:
            fixes.append("Its Model is not a class derived from torch.nn.Module.")
        if len(own) == 1:
            fixes.append(f"Its only torch.nn.Module class is {own[0]}: use --class {own[0]}, or name it Model.")
        elif own:
            fixes.append(f"Choose a class with --class: {', '.join(own)}.")
        else:
            fixes.append("Define class Model(torch.nn.Module).")
    if "get_init_inputs" in missing:
        fixes.append("Define get_init_inputs(): the list of the constructor's arguments ([] if none).")
    if "get_inputs" in missing:
        fixes.append("Define get_inputs(): the list of forward's arguments.")
    found = [f"class {name}" for name in own] + [f"{part}()" for part in there]
    fixes.append(f"Found: {', '.join(found)}." if found else "None of the three was found.")
    return " ".join(fixes)


def _listing(names):
    labels = [name if name == "Model" else f"{name}()" for name in names]
    return labels[0] if len(labels) == 1 else f"{', '.join(labels[:-1])} and {labels[-1]}"


def _is_module(value):
    return isinstance(value, type) and issubclass(value, torch.nn.Module)


def _a(noun):
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
