#!/usr/bin/env python3
"""NVIDIA's SOL-ExecBench as tasks: a task file a problem, at one of its workloads.

    tools/sol_execbench.py .sol-execbench/problems -o out                          out/tasks/NNN_name.py, out/left_out.jsonl
    tools/sol_execbench.py .sol-execbench/problems -o out -- --jobs 12             and `stitchcuda bench` over them: out/bench
    tools/sol_execbench.py .sol-execbench/problems -o out --small                  sizes for a CPU (./dev sweep tasks --tasks out/tasks)

PROBLEMS has N/definition.json and N/workload.jsonl. The data is NVIDIA's, to be used where it is and not to be passed on, and the task
files hold parts of it: they belong outside of any repository. A task's inputs are what the problem calls inputs, weights among them.
"""

import argparse
import ast
import json
import math
import os
import pathlib
import re
import subprocess
import sys

HALVES = ("float16", "bfloat16")
FP8 = ("float8_e4m3fn", "float8_e5m2")
BYTES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2}

# How an input that the data calls random is drawn, by its name: what a model could have there (a variance is positive, weights keep
# the scale of what they are multiplied with). The first that fits; {s}: shape, {d}: dtype, {n}: the last dimension.
NORMAL = "torch.randn({s}, dtype={d})"
DRAWS = (
    (r"(^|_)(layer)?norm\d*_weight\d*$", "1 + 0.1 * " + NORMAL),
    (r"(^|_)(layer)?norm\d*_bias\d*$", "0.1 * " + NORMAL),
    (r"^(attention|causal)_mask$", "torch.full({s}, torch.finfo({d}).min, dtype={d}).triu(1)"),
    (r"_mask$", "torch.randint(0, 2, {s}).to({d})"),
    (r"(^|_)(cos|sin)(_|$)", NORMAL + ".{trig}()"),
    (r"(^|_)(r?std|var|variance)\d*$", NORMAL + ".abs() + 0.1"),
    (r"^A_cumsum$", "torch.rand({s}, dtype={d}).mul(-0.1).cumsum(-1)"),
    (r"^A_log$", "torch.rand({s}, dtype={d}) * 4 - 5"),
    (r"^A$", "-torch.rand({s}, dtype={d}).clamp(min=1e-3)"),
    (r"^g$", "torch.rand({s}, dtype={d}) * -5"),
    (r"^(attn|attention|routing)_weights$", NORMAL + ".softmax(-1)"),
    (r"(^|_)(weights?|projs?|proj_weights?|weight_matrix)\d*$", NORMAL + " * {n} ** -0.5"),
)

TASK = """

# What makes this a task: SOL-ExecBench's problem {number} ({name}) at workload {workload}.
# Axes: {axes}
# Tolerance there: {tolerance}
import inspect as _inspect

import torch as _torch

_run{custom_name} = run{custom}
# PyTorch remembers a node's line by functions of this name.
_inspect.unwrap(run).__code__ = _inspect.unwrap(run).__code__.replace(co_name="forward")


class Model(_torch.nn.Module):
    def forward(self, {names}):
        return _run({arguments})


def get_init_inputs():
    return []


def get_inputs():
    torch = _torch
{drawn}    return [
{inputs}
    ]
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", type=pathlib.Path, help="the folder of problems")
    parser.add_argument("-o", "--out", type=pathlib.Path, required=True)
    chosen_by = "smallest, median or largest by bytes of inputs and outputs, all, or a number (default: median)"
    parser.add_argument("--workload", default="median", help=chosen_by)
    parser.add_argument("--only", default="", help="numbers of problems: 3,10-20 (default: all)")
    parser.add_argument("--most", type=float, default=math.inf, metavar="GB", help="maximum size of inputs and outputs: else the largest that fits")
    parser.add_argument("--small", action="store_true", help="variable axes as small as the problem allows")
    options, bench = split(parser, sys.argv[1:])
    tasks = options.out / "tasks"
    tasks.mkdir(parents=True, exist_ok=True)
    wanted, left_out, written = numbers(options.only), [], 0
    for folder in sorted((folder for folder in options.problems.iterdir() if folder.name.isdigit()), key=lambda folder: int(folder.name)):
        if wanted and int(folder.name) not in wanted:
            continue
        problem = Problem(folder)
        chosen = [] if problem.refusal else choose(problem, options)
        if not chosen:
            reason = problem.refusal or f"no workload fits into {options.most} GB"
            left_out.append({"problem": problem.number, "name": problem.name, "reason": reason})
        for workload in chosen:
            suffix = f"_w{workload:02}" if options.workload == "all" else ""
            text = problem.small_task() if options.small else problem.task(workload, problem.axes(workload))
            (tasks / f"{problem.number:03}_{problem.name}{suffix}.py").write_text(text)
            written += 1
    with open(options.out / "left_out.jsonl", "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in left_out)
    for line in left_out:
        print(f"left out: {line['problem']} {line['name']}: {line['reason']}")
    print(f"{written} tasks in {tasks}")
    if bench is not None:
        tool = os.environ.get("STITCHCUDA", "stitchcuda")
        sys.exit(subprocess.run([tool, "bench", str(tasks), "-o", str(options.out / "bench"), *bench]).returncode)


def split(parser, words):
    """Our options, and those of `bench` behind --."""
    if "--" not in words:
        return parser.parse_args(words), None
    at = words.index("--")
    return parser.parse_args(words[:at]), words[at + 1 :]


def numbers(text):
    out = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        out.update(range(int(first), int(last or first) + 1))
    return out


def choose(problem, options):
    sizes = [problem.bytes(problem.axes(i)) for i in range(len(problem.workloads))]
    order = sorted((i for i, size in enumerate(sizes) if size <= options.most * 1e9), key=sizes.__getitem__)
    if options.workload == "all":
        return sorted(order)
    if options.workload.isdigit():
        return [int(options.workload)]
    if not order:
        return []
    place = {"smallest": 0, "median": len(problem.workloads) // 2, "largest": -1}[options.workload]
    return [order[min(place, len(order) - 1)]]


class Problem:
    def __init__(self, folder):
        self.number = int(folder.name)
        self.definition = json.loads((folder / "definition.json").read_text())
        self.workloads = [json.loads(line) for line in (folder / "workload.jsonl").read_text().splitlines() if line.strip()]
        self.name = re.sub(r"\W", "_", re.sub(r"^\d+_", "", self.definition["name"]))
        self.refusal = self.why_not()

    def why_not(self):
        dtypes = {spec["dtype"] for spec in self.definition["inputs"].values()}
        if any(dtype.startswith("float4") for dtype in dtypes) or "nvfp4" in self.name:
            return "NVFP4, which GPUs before Blackwell don't have: run it on one that does"
        if any(source["type"] == "safetensors" for workload in self.workloads for source in workload["inputs"].values()):
            return "its inputs are recorded tensors (safetensors) that come with another dataset"
        return ""

    def axes(self, workload, largest=None, batch=None):
        """All axes' values; with `largest` the variable ones cut to it."""
        given = dict(self.workloads[workload]["axes"])
        if largest is not None:
            given = {name: min(value, batch if "batch" in name or name in ("B", "N") else largest) for name, value in given.items()}
        specs = self.definition["axes"]
        values = {name: spec["value"] for name, spec in specs.items() if spec["type"] == "const"}
        values.update(given)
        waiting = {name: spec["expression"] for name, spec in specs.items() if spec["type"] == "expr"}
        while waiting:
            ready = [name for name, text in waiting.items() if names_in(text) <= set(values)]
            if not ready:
                raise SystemExit(f"problem {self.number}: axes that depend on each other: {', '.join(waiting)}")
            for name in ready:
                values[name] = evaluated(waiting.pop(name), values)
        return values

    def shape(self, spec, axes):
        return tuple(evaluated(size, axes) if isinstance(size, str) else size for size in spec["shape"])

    def bytes(self, axes):
        specs = [*self.definition["inputs"].values(), *self.definition["outputs"].values()]
        return sum(math.prod(self.shape(spec, axes)) * BYTES.get(spec["dtype"], 1) for spec in specs if spec["shape"] is not None)

    def task(self, workload, axes):
        sources, lines, arguments, names = self.workloads[workload]["inputs"], [], [], []
        for name, spec in self.definition["inputs"].items():
            source = sources.get(name, {"type": "custom" if self.definition.get("custom_inputs_entrypoint") else "random"})
            if source["type"] == "scalar":
                text = repr(source["value"])
            elif source["type"] == "custom":
                text = f'drawn["{name}"]'
            elif spec["shape"] is None:
                text = NORMAL.format(s="()", d="torch.float32") + ".item()"
            else:
                text = draw(name, self.shape(spec, axes), spec["dtype"])
            fp8 = spec["dtype"] in FP8
            # As bytes: a task's inputs have no such dtype.
            lines.append(f"        {text}{'.view(torch.uint8)' if fp8 else ''},  # {name}")
            names.append(name)
            arguments.append(f"{name}.view(_torch.{spec['dtype']})" if fp8 else name)
        custom = self.definition.get("custom_inputs_entrypoint") if "custom" in {source["type"] for source in sources.values()} else None
        scalars = {name: source["value"] for name, source in sources.items() if source["type"] == "scalar"}
        given = {**axes, **scalars}
        return self.definition["reference"] + TASK.format(
            number=self.number,
            name=self.definition["name"],
            workload=workload,
            axes=", ".join(f"{name} {value}" for name, value in axes.items()),
            tolerance=json.dumps(self.workloads[workload].get("tolerance")),
            custom_name=", _custom" if custom else "",
            custom=f", {custom}" if custom else "",
            names=", ".join(names),
            arguments=", ".join(arguments),
            drawn=f"    drawn = _custom({given!r}, torch.get_default_device())\n" if custom else "",
            inputs="\n".join(lines),
        )

    def small_task(self):
        """At the smallest variable axes with which the reference runs and returns what the definition says."""
        smallest = min(range(len(self.workloads)), key=lambda i: self.bytes(self.axes(i)))
        for largest, batch in ((4, 2), (16, 2), (64, 2), (256, 2), (math.inf, 2)):
            axes = self.axes(smallest, largest, batch)
            text = self.task(smallest, axes)
            if self.runs(text, axes):
                return text
        return self.task(smallest, self.axes(smallest))

    def runs(self, text, axes):
        import torch

        module = {"__name__": "task"}
        torch.manual_seed(0)
        try:
            exec(compile(text, f"<problem {self.number}>", "exec"), module)
            inputs = module["get_inputs"]()
            outputs = module["Model"]()(*inputs)
        except Exception:
            return False
        outputs = list(outputs.values()) if isinstance(outputs, dict) else [outputs] if isinstance(outputs, torch.Tensor) else outputs
        wanted = [self.shape(spec, axes) for spec in self.definition["outputs"].values() if spec["shape"] is not None]
        return [tuple(output.shape) for output in outputs if isinstance(output, torch.Tensor)] == wanted and all(math.prod(shape) for shape in wanted)


def draw(name, shape, dtype):
    d = f"torch.{dtype}"
    if dtype in FP8:
        return NORMAL.format(s=shape, d="torch.float32") + f".clamp(-2, 2).to({d})"
    if dtype == "bool":
        return f"torch.rand({shape}) < 0.5"
    if not dtype.startswith(("float", "bfloat")):
        return f"torch.randint(-1024, 1024, {shape}, dtype={d})"
    for pattern, text in DRAWS:
        if not re.search(pattern, name) or "weight" in pattern and "norm" not in pattern and len(shape) < 2:
            continue
        if pattern.startswith("^(attention|causal)") and (len(shape) < 2 or shape[-1] != shape[-2]):
            continue
        return text.format(s=shape, d=d, n=shape[-1] if shape else 1, trig="cos" if "cos" in name else "sin")
    return NORMAL.format(s=shape, d=d)


def names_in(expression):
    return {node.id for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name)}


def evaluated(expression, values):
    """Sums, products and quotients of axes."""
    tree = ast.parse(expression, mode="eval")
    allowed = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Name, ast.Constant, ast.operator, ast.unaryop, ast.Load)
    if not all(isinstance(node, allowed) for node in ast.walk(tree)):
        raise SystemExit(f"not an expression of axes: {expression}")
    return int(eval(compile(tree, "<axis>", "eval"), {"__builtins__": {}}, dict(values)))


if __name__ == "__main__":
    main()
