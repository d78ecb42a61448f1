#!/usr/bin/env python3
"""Writes a task file for each model of catalogue.py (libraries) and src/import/testdata/models: make_tasks.py -o FOLDER [NAME…]

A task stands alone, has random weights, is in eval mode, and is what `stitchcuda bench FOLDER -o RESULTS` takes. Models
that people also run in half precision have a second one, NAME_fp16 or NAME_bf16; with --half fp16 (or bf16) every model
has that one alone. --small: one small image or sixteen tokens, for the emulated GPU.
"""

import argparse
import ast
import importlib.util
import pathlib

from catalogue import LIBRARIES, row

MODELS = pathlib.Path(__file__).resolve().parents[2] / "src/import/testdata/models"
FAMILIES = ("own", "vision", "generators", "attention", "sequences", "tables", "science")
HALVES = {"fp16": "torch.float16", "bf16": "torch.bfloat16"}
TEMPLATE = '''"""{name}: random weights, eval mode{dtype_note}."""

{imports}


{source}class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.model = {build}.eval(){cast}

    def forward(self, {arguments}):
        return {call}


def get_inputs():
    torch.manual_seed(1)
    return [{inputs}]


def get_init_inputs():
    return []
'''
LIBRARY_IMPORTS = "import torch\nimport torch.nn as nn\nimport {}"


class Family:
    """A file of models, which their tasks quote: what a model's class needs of it, in the file's order."""

    def __init__(self, name):
        self.text = (MODELS / f"{name}.py").read_text(encoding="utf-8")
        statements = ast.parse(self.text).body
        (table,) = (one.value for one in statements if isinstance(one, ast.Assign))
        # Read, not run: that would import PyTorch.
        self.rows = [row(*columns[:3], family=name, **({"half": columns[3]} if columns[3:] else {})) for columns in ast.literal_eval(table)]
        self.parts = {part.name: part for part in statements if isinstance(part, (ast.ClassDef, ast.FunctionDef))}
        self.imports = "\n".join(ast.unparse(one) for one in statements if isinstance(one, (ast.Import, ast.ImportFrom)))

    def source(self, build):
        needed, found = {build.split("(")[0]}, set()
        while needed - found:
            name = (needed - found).pop()
            found.add(name)
            needed |= {node.id for node in ast.walk(self.parts[name]) if isinstance(node, ast.Name)} & self.parts.keys()
        return "".join(ast.get_source_segment(self.text, part) + "\n\n\n" for name, part in self.parts.items() if name in found)


def models():
    """(row, its imports, its source)"""
    for model in LIBRARIES:
        yield model, LIBRARY_IMPORTS.format(model["library"]), ""
    for family in map(Family, FAMILIES):
        for model in family.rows:
            yield model, family.imports, family.source(model["build"])


def task_text(model, imports, source, dtype):
    names = model.get("arguments") or ", ".join("xyzwuvst"[k] for k in range(len(model["inputs"])))
    cast = f".to({HALVES[dtype]})" if dtype else ""
    inputs = [text + cast if "randn" in text else text for text in model["inputs"]]
    return TEMPLATE.format(name=model["name"], dtype_note=f", {dtype}" if dtype else "", imports=imports, source=source, build=model["build"],
                           cast=cast, arguments=names, call=model.get("call", f"self.model({names})"), inputs=", ".join(inputs))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="models whose names contain one of these (default: all)")
    parser.add_argument("-o", "--out", type=pathlib.Path, required=True)
    parser.add_argument("--family", choices=("libraries", *FAMILIES), action="append", help="models of this file alone; can be repeated")
    parser.add_argument("--half", choices=HALVES, action="append", help="every model in this precision alone; can be repeated")
    parser.add_argument("--small", action="store_true", help="small models and inputs, of installed libraries alone")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    written = 0
    for model, imports, source in models():
        name = model["name"].replace(".", "_")
        if options.names and not any(part in name for part in options.names):
            continue
        if options.family and model.get("family", "libraries") not in options.family:
            continue
        if options.small:
            if "small" not in model or importlib.util.find_spec(model["library"]) is None:
                continue
            model = {**model, **model["small"]}
        for dtype in options.half or ([None, model["half"]] if model.get("half") else [None]):
            path = options.out / (name + (f"_{dtype}" if dtype else "") + ".py")
            path.write_text(task_text(model, imports, source, dtype), encoding="utf-8")
            written += 1
    print(f"{written} tasks in {options.out}")


if __name__ == "__main__":
    main()
