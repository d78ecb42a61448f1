#!/usr/bin/env python3
"""Where a model's error comes from: PyTorch's own, what TF32 and fp16 would add, layer by layer.

    tools/rounding_shares.py [--device cuda] [--train | --eval] [--regions N] TASK.py…

A line a task: convolutions, how many of them PyTorch does in TF32 on this device, its relative error, the same as the shares
predict it (TF32 where it was seen) and as rounding those operands to nearest for real gives it; then the predictions for all
convolutions in TF32, and for everything between them in fp16. Errors of PyTorch's other ways to compute the same follow:
channels last, cuDNN's search, deterministic algorithms. Last the seconds that measuring took.
"""

import argparse
import copy
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))

import torch  # noqa: E402

from stitchcuda_torch import numerics  # noqa: E402
from stitchcuda_torch.answers import Answers  # noqa: E402
from stitchcuda_torch.arithmetic import are_tf32  # noqa: E402
from stitchcuda_torch.evaluate import evaluate, named  # noqa: E402
from stitchcuda_torch.interpret import CONVOLUTIONS, graph_name  # noqa: E402
from stitchcuda_torch.reference import native_dtype  # noqa: E402
from stitchcuda_torch.roundings import FP16, TF32, measure_directly  # noqa: E402

COLUMNS = ("task", "convs", "TF32", "PyTorch", "predicted", "rounded", "all TF32", "rounded", "fp16", "last", "search", "determin.", "s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+", metavar="TASK.py")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=("cpu", "cuda"))
    parser.add_argument("--train", dest="mode", action="store_const", const="train")
    parser.add_argument("--eval", dest="mode", action="store_const", const="eval")
    parser.add_argument("--class", dest="class_name", default="default", choices=numerics.CLASSES)
    parser.add_argument("--regions", type=int, default=0, help="how many of the largest shares to print (default: none)")
    options = parser.parse_args()
    print(row(COLUMNS), flush=True)
    for task in options.tasks:
        try:
            print(row(study(task, options)), flush=True)
        except Exception as error:  # the next task may do better
            print(f"{name_of(task):28} {type(error).__name__}: {str(error).splitlines()[0][:120]}", flush=True)


def row(cells):
    return f"{cells[0]:28} " + " ".join(f"{cell:>10}" for cell in cells[1:])


def name_of(task):
    return os.path.splitext(os.path.basename(task))[0][:28]


def study(task, options):
    answers = Answers(lambda text: None)
    answers.load(task, 42, options.device, options.mode, None, **{"class": None})
    loaded = answers.loaded
    answer = answers.roundings(options.class_name, "fp16", "task", 7, 1e-5, 2)
    if "unavailable" in answer:
        raise RuntimeError(answer["unavailable"])
    document = answers.exported.document
    layers = {node["outputs"][0]["name"]: node for node in document["nodes"] if node["op"].split(".")[1] in CONVOLUTIONS}
    seen = dict(zip(layers, are_tf32([shape_of(node, document) for node in layers.values()], loaded.device)))
    output = answer["groups"][0]["outputs"][0]

    def predicted(names, precision):
        entries = [answer["operands"][name]["slots"] for name in names if name in answer["operands"]]
        return sum(slot["shares"][0][precision] for slots in entries for slot in slots)

    tf32 = [name for name in layers if seen[name]]
    stored = [name for node in document["nodes"] for name in (graph_name(entry["name"]) for entry in node["outputs"] if entry) if name in answer["values"]]
    between = sum(answer["values"][name]["shares"][0][FP16] for name in stored if name != document["outputs"][0]["value"])
    inputs = answers.drawn("task", 7)[0]
    state = {**answers.exported.constants, **{name: tensor for name, tensor, _ in loaded.state()}}
    state = {name: tensor.to(loaded.device) for name, tensor in state.items()}

    def rounded(names):
        places = {("operand", (name, slot)): "tf32" for name in names for slot in ("input", "weight")}
        return measure_directly(document, state, inputs, places, native_dtype(loaded.model, inputs), loaded.device)[output]

    others = other_ways(loaded, inputs, options.class_name, output) if options.device == "cuda" else ["-"] * 3
    if options.regions:
        print_shares(answer, layers, seen, options.regions)
    errors = (answer["outputs"][output]["error"], math.sqrt(predicted(tf32, TF32)), rounded(tf32), math.sqrt(predicted(layers, TF32)),
              rounded(layers), math.sqrt(between + predicted(layers, FP16)))
    return (name_of(task), len(layers), len(tf32), *(f"{error:.2e}" for error in errors), *others, answer["seconds"])


def shape_of(node, document):
    shapes = {entry["name"]: entry["shape"] for entry in document["values"]}
    shapes.update({entry["name"]: entry["shape"] for each in document["nodes"] for entry in each["outputs"] if entry})
    arguments = node["args"]
    dimensions = len(shapes[arguments["input"]["value"]]) - 2

    def every(value, otherwise):
        value = otherwise if value is None else value
        return list(value) if isinstance(value, list) and len(value) == dimensions else [value[0] if isinstance(value, list) else value] * dimensions

    if isinstance(arguments.get("padding"), str):
        raise RuntimeError("padding by name")
    return {"x": shapes[arguments["input"]["value"]], "weight": shapes[arguments["weight"]["value"]],
            "stride": every(arguments.get("stride"), 1), "padding": every(arguments.get("padding"), 0),
            "dilation": every(arguments.get("dilation"), 1), "groups": arguments.get("groups", 1),
            "transposed": "transpose" in node["op"], "output_padding": every(arguments.get("output_padding"), 0)}


def other_ways(loaded, inputs, class_name, output):
    """Relative errors of the same model channels last, with cuDNN's search, and with deterministic algorithms."""
    truth = named(evaluate(loaded, inputs, "float64", "fp16", loaded.device, 42)[0])[output]
    errors = []
    for way in ("last", "search", "deterministic"):
        model = copy.deepcopy(loaded.model)
        positional, keyword = loaded.arguments(inputs)
        with torch.no_grad(), numerics.pinned(class_name, loaded.device):
            if way == "last":
                model = model.to(memory_format=torch.channels_last)
                positional = [x.to(memory_format=torch.channels_last) if isinstance(x, torch.Tensor) and x.dim() == 4 else x for x in positional]
            torch.backends.cudnn.benchmark = way == "search"
            torch.backends.cudnn.deterministic = way == "deterministic"
            got = model(*positional, **keyword)
        got = got if isinstance(got, torch.Tensor) else got[0]
        errors.append(f"{float((got.double() - truth).norm() / truth.norm()):.2e}")
    return errors


def print_shares(answer, layers, seen, most):
    total = sum(slot["shares"][0][TF32] for name in layers for slot in answer["operands"][name]["slots"])
    shares = {name: sum(slot["shares"][0][TF32] for slot in answer["operands"][name]["slots"]) for name in layers}
    for name in sorted(shares, key=shares.get, reverse=True)[:most]:
        print(f"    {answer['operands'][name]['module'] or name:40} {'TF32' if seen[name] else 'FP32':5} {100 * shares[name] / total:5.1f} % "
              f"of all TF32's square; its result in fp16 {math.sqrt(answer['values'][name]['shares'][0][FP16]):.1e}")


if __name__ == "__main__":
    main()
