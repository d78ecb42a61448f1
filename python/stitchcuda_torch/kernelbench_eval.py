"""KernelBench's own evaluator on a packaged program: python -m stitchcuda_torch.kernelbench_eval CHECKOUT TASK PACKAGE…

CHECKOUT is an unpacked KernelBench repository. Its verdict is printed beside nothing else: one JSON line a package.
"""

import argparse
import importlib
import importlib.util
import json
import os
import sys
import types


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout")
    parser.add_argument("task")
    parser.add_argument("package", nargs="+", help="folders with model_new.py")
    options = parser.parse_args()
    evaluator = load_evaluator(options.checkout)
    for package in options.package:
        print(json.dumps(evaluate(evaluator, options.task, package)), flush=True)


def load_evaluator(checkout):
    """kernelbench.eval without the package's other needs (language-model clients, data-set downloads)."""
    folder = os.path.join(checkout, "src", "kernelbench")
    package = types.ModuleType("kernelbench")
    package.__path__ = [folder]
    sys.modules["kernelbench"] = package
    sys.modules["kernelbench.dataset"] = Absent("kernelbench.dataset")
    if importlib.util.find_spec("pydantic") is None:
        sys.modules["pydantic"] = types.ModuleType("pydantic")
        sys.modules["pydantic"].BaseModel = Record
    for name in ("kernelbench.utils", "kernelbench.timing", "kernelbench.eval"):
        import_without(name)
    return sys.modules["kernelbench.eval"]


def import_without(name):
    """Imports a module of KernelBench's; packages that are not installed are stood in for: the evaluator calls none."""
    while True:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name in sys.modules or error.name.startswith(("kernelbench", "torch")):
                raise
            sys.modules[error.name] = Absent(error.name)


class Absent(types.ModuleType):
    """Stands for a package that is not installed; every name in it is a function that does nothing."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **named: None


class Record:
    """What the evaluator needs of pydantic's models: fields with defaults, set by name."""

    def __init__(self, **fields):
        for name in getattr(type(self), "__annotations__", {}):
            setattr(self, name, fields.get(name, getattr(type(self), name, None)))


def evaluate(evaluator, task, package):
    import torch
    with open(task) as file:
        reference = file.read()
    path = os.path.join(package, "model_new.py")
    with open(path) as file:
        candidate = file.read()
    os.environ["STITCHCUDA_PROGRAM"] = os.path.abspath(package)  # the evaluator executes the text: there is no __file__
    result = evaluator.eval_kernel_against_ref(
        original_model_src=reference, custom_model_src=candidate, seed_num=42, num_correct_trials=5, num_perf_trials=100,
        measure_performance=True, backend="cuda", precision=torch.float32, device=torch.device("cuda:0"), verbose=False)
    if result is None:
        return {"package": package, "compiled": None}
    return {"package": package, "compiled": result.compiled, "correct": result.correctness, "milliseconds": result.runtime,
            "reference_milliseconds": getattr(result, "ref_runtime", None), "metadata": {k: str(v)[:300] for k, v in result.metadata.items()}}


if __name__ == "__main__":
    main()
