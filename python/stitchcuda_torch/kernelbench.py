"""KernelBench's own evaluator on a packaged program: python -m stitchcuda_torch.kernelbench CHECKOUT TASK PACKAGE…

CHECKOUT is an unpacked KernelBench repository. Its verdict is printed beside nothing else: one JSON line a package. In place
of a package may stand pytorch:WAY, the task's own model computed in another way (WAYS): cuDNN's other algorithms, another layout,
another order of the batch, or more accuracy than the reference has. Whatever is rejected of these shows that the check asks for one
rounding among many that are as good. With --serve, tasks
and packages are read from stdin instead: one JSON object a line, {"task": …, "package": …}. With --draw-on-gpu the inputs come from
the GPU's generator: other numbers of the same distributions, in milliseconds where the CPU draws gigabytes for a minute.
"""

import argparse
import contextlib
import importlib
import importlib.util
import json
import os
import sys
import types

WAYS = {
    "search": "cuDNN times its algorithms and takes the fastest",
    "deterministic": "cuDNN's deterministic algorithms",
    "channels_last": "images and filters channels last",
    "reversed": "the batch in reverse order",
    "fp32": "no TF32",
    "float64": "float64",
}

CANDIDATE = """
import torch


class ModelNew(Model):
    WAY = {way!r}

    def forward(self, *inputs):
        cudnn, way = torch.backends.cudnn, self.WAY
        before = cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32
        cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32 = way == "search", way == "deterministic", way not in ("fp32", "float64")
        try:
            if way == "channels_last":
                formats = {4: torch.channels_last, 5: torch.channels_last_3d}
                for weight in self.parameters():
                    weight.data = weight.data.to(memory_format=formats.get(weight.dim(), torch.preserve_format))
                inputs = [x.to(memory_format=formats.get(x.dim(), torch.preserve_format)) for x in inputs]
            if way == "reversed":
                return super().forward(*(x.flip(0) for x in inputs)).flip(0)
            if way == "float64":
                self.double()
                return super().forward(*(x.double() if x.is_floating_point() else x for x in inputs)).float()
            return super().forward(*inputs)
        finally:
            cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32 = before
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout")
    parser.add_argument("task", nargs="?")
    parser.add_argument("package", nargs="*", help="folders with model_new.py, or pytorch:WAY")
    parser.add_argument("--no-timing", dest="timing", action="store_false", help="correctness alone")
    parser.add_argument("--serve", action="store_true", help="read tasks and packages from stdin")
    parser.add_argument("--draw-on-gpu", action="store_true", help="inputs by the GPU's generator, not the CPU's")
    options = parser.parse_args()
    if not options.serve and not (options.task and options.package):
        parser.error("a task and a package are needed, or --serve")
    evaluator = load_evaluator(options.checkout)
    if options.draw_on_gpu:
        draw_on_gpu(evaluator)
    questions = map(json.loads, sys.stdin) if options.serve else ({"task": options.task, "package": each} for each in options.package)
    for question in questions:
        answer = evaluate(evaluator, question["task"], question["package"], options.timing)
        print(json.dumps(answer), flush=True)


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


def draw_on_gpu(evaluator):
    import torch

    load = evaluator.load_original_model_and_inputs

    def loaded(*arguments, **named):
        found = load(*arguments, **named)
        if found is None:  # a task that does not compile
            return None
        model, init_inputs, inputs = found

        def drawn():
            with torch.device("cuda:0"):
                return inputs()

        return model, init_inputs, drawn

    evaluator.load_original_model_and_inputs = loaded


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


def evaluate(evaluator, task, package, timing=True):
    import torch

    with open(task) as file:
        reference = file.read()
    if package.startswith("pytorch:"):
        candidate = candidate_by(package.removeprefix("pytorch:"))
    else:
        with open(os.path.join(package, "model_new.py")) as file:
            candidate = file.read()
        os.environ["STITCHCUDA_PROGRAM"] = os.path.abspath(package)  # the evaluator executes the text: there is no __file__
    with contextlib.redirect_stdout(sys.stderr):  # it prints what it thinks
        result = evaluator.eval_kernel_against_ref(
            original_model_src=reference,
            custom_model_src=candidate,
            seed_num=42,
            num_correct_trials=5,
            num_perf_trials=100,
            measure_performance=timing,
            backend="cuda",
            precision=torch.float32,
            device=torch.device("cuda:0"),
            verbose=False,
        )
    torch.cuda.empty_cache()
    if result is None:
        return {"package": package, "compiled": None, "correct": False, "metadata": {}}
    return {
        "package": package,
        "compiled": result.compiled,
        "correct": result.correctness,
        "milliseconds": result.runtime,
        "reference_milliseconds": getattr(result, "ref_runtime", None),
        "largest": largest_of(result.metadata),
        "metadata": {k: str(v)[:300] for k, v in result.metadata.items()},
    }


def largest_of(metadata):
    """The largest difference of all trials; None where none was out of tolerance."""
    found = [float(each) for each in metadata.get("max_difference", [])]
    return max(found) if found else None


def candidate_by(way):
    if way not in WAYS:
        raise ValueError(f"unknown way {way!r}; there are: {', '.join(WAYS)}")
    return CANDIDATE.replace("{way!r}", repr(way))


if __name__ == "__main__":
    main()
