"""Writes a task file for each model of the catalogue: make_tasks.py -o FOLDER [NAME…]

A task has random weights, is in eval mode, and is what `stitchcuda bench FOLDER -o RESULTS` takes. Models that people
also run in half precision have a second one, NAME_fp16 or NAME_bf16; with --half fp16 (or bf16) every model has that one
alone. --small: one small image or sixteen tokens, for the emulated GPU.
"""

import argparse
import pathlib

from catalogue import DIFFUSERS, TIMM, TORCHVISION, TRANSFORMERS
from own import OWN

HALVES = {"fp16": "torch.float16", "bf16": "torch.bfloat16"}
TEMPLATE = '''"""{name}: random weights, eval mode{dtype_note}."""

import torch
{imports}

{source}
class Model(nn.Module):
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


def task_text(row, dtype):
    names = row.get("arguments") or ", ".join("xyzw"[k] for k in range(len(row["inputs"])))
    cast = f".to({HALVES[dtype]})" if dtype else ""
    inputs = [text + cast if "randn" in text else text for text in row["inputs"]]
    imports = ["import torch.nn as nn"]
    if "source" in row:
        imports.append("import torch.nn.functional as F")
    if row.get("library"):
        imports.append(f"import {row['library']}")
    return TEMPLATE.format(name=row["name"], dtype_note=f", {dtype}" if dtype else "", imports="\n".join(imports),
                           source=row.get("source", ""), build=row.get("build", "Net()"), cast=cast, arguments=names,
                           call=row.get("call", f"self.model({names})"), inputs=", ".join(inputs))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="models whose names contain one of these (default: all)")
    parser.add_argument("-o", "--out", type=pathlib.Path, required=True)
    parser.add_argument("--half", choices=HALVES, help="every model in this precision alone")
    parser.add_argument("--small", action="store_true", help="small models and inputs, of families that have such")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    written = 0
    for row in TORCHVISION + TIMM + TRANSFORMERS + DIFFUSERS + OWN:
        name = row["name"].replace(".", "_")
        if options.names and not any(part in name for part in options.names):
            continue
        if options.small:
            if "small" not in row:
                continue
            row = {**row, **row["small"]}
        for dtype in [options.half] if options.half else [None, row["half"]] if row.get("half") else [None]:
            path = options.out / (name + (f"_{dtype}" if dtype else "") + ".py")
            path.write_text(task_text(row, dtype))
            written += 1
    print(f"{written} tasks in {options.out}")


if __name__ == "__main__":
    main()
