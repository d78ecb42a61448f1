"""Task files of the models that transformers or diffusers test themselves with: from_tests.py CHECKOUT [FAMILY…] -o FOLDER

    git clone --depth 1 https://github.com/huggingface/transformers
    python tools/models/from_tests.py transformers -o tasks            the first class of each test
    python tools/models/sweep.py --out sweep tasks --tasks tasks imported, and the graphs held against PyTorch
    stitchcuda bench tasks/*_fp16.py -o out --eval --budget 1    with --half fp16: a program of each, judged by every gate

A library's tests know for each model a tiny configuration and inputs that fit it, text, images, sound and video alike.
CHECKOUT is its repository, whose `tests` are read; the library itself is the installed one (about the same version), and
packages that only tests need are stood in for. A task is NAME.py and data/NAME.pt. What can't be made is told in made.jsonl.
"""

import argparse
import copy
import importlib
import importlib.machinery
import json
import pathlib
import re
import sys
import types
import unittest.mock

import torch

ABSENT = ("httpx", "datasets", "fetch_hub_objects_for_ci", "timeout_decorator")
HALVES = {"fp16": "float16", "bf16": "bfloat16"}
TEMPLATE = '''"""{library}: {name}, with the configuration and the inputs of its own tests."""

import pathlib

import torch
from torch import nn
from torch.utils import _pytree
from {module} import {name}

CONFIGURATION, INPUTS = torch.load(pathlib.Path(__file__).parent / "data" / "{file}.pt", weights_only=False)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = {name}({stars}CONFIGURATION).eval(){cast}

    def forward(self, **inputs):
        return self.model(**inputs)


def get_inputs():
    return {inputs}


def get_init_inputs():
    return []
'''


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=pathlib.Path, help="a checkout of transformers or diffusers")
    parser.add_argument("families", nargs="*", help="only tests of these names, such as bert or flux (default: all)")
    parser.add_argument("-o", "--out", type=pathlib.Path, required=True)
    parser.add_argument("--classes", type=int, default=1, help="maximum classes per test, heads after the bare model (default: 1)")
    parser.add_argument("--half", choices=HALVES, action="append", default=[], help="in this precision, too; can be repeated")
    options = parser.parse_args()
    (options.out / "data").mkdir(parents=True, exist_ok=True)
    stand_in()
    sys.path[:0] = [str(options.checkout), str(options.checkout / "utils")]
    library = "transformers" if (options.checkout / "tests/models/bert").is_dir() else "diffusers"
    models_of = of_transformers if library == "transformers" else of_diffusers
    written = 0
    with open(options.out / "made.jsonl", "a") as log:
        for file in sorted((options.checkout / "tests/models").glob("*/test_model*.py")):
            family = file.parent.name if library == "transformers" else re.sub(r"test_models?_|transformer_|autoencoder_", "", file.stem)
            if options.families and family not in options.families:
                continue
            for name, outcome in made(models_of, file, family, library, options):
                written += outcome is None
                log.write(json.dumps({"family": family, "class": name, "failed": outcome}) + "\n")
    print(f"{written} tasks in {options.out}")


def stand_in():
    for name in ABSENT:
        if importlib.util.find_spec(name) is None:
            sys.modules[name] = unittest.mock.MagicMock(__spec__=importlib.machinery.ModuleSpec(name, None))
    sys.modules["timeout_decorator"].timeout = lambda *arguments, **keywords: lambda function: function
    pipelines = types.ModuleType("tests.test_pipeline_mixin")  # it wants the library's sources
    pipelines.PipelineTesterMixin = type("PipelineTesterMixin", (), {})
    sys.modules[pipelines.__name__] = pipelines


def made(models_of, file, family, library, options):
    """(class, why it failed or None) for each class, after its task was written."""
    try:
        models = list(models_of(import_tests(f"tests.models.{file.parent.name}.{file.stem}"), options.classes))
    except Exception as error:
        yield "", f"{type(error).__name__}: {error}"[:300]
        return
    for kind, configuration, inputs in models:
        stem = f"{family}_{kind.__name__}"
        try:
            torch.manual_seed(0)
            without_cache(configuration)
            given = copy.deepcopy(configuration)
            model = kind(**given) if library == "diffusers" else kind(given)
            with torch.no_grad():
                model.eval()(**copy.deepcopy(inputs))
            torch.save((configuration, inputs), options.out / "data" / f"{stem}.pt")
            for dtype in (None, *options.half):
                (options.out / (stem + (f"_{dtype}" if dtype else "") + ".py")).write_text(task_text(kind, library, stem, dtype))
            yield kind.__name__, None
        except Exception as error:
            yield kind.__name__, f"{type(error).__name__}: {error}"[:300]


def without_cache(configuration):
    """A cache is no tensor, and programs return tensors."""
    for part in (configuration, *vars(configuration).values()) if hasattr(configuration, "use_cache") else ():
        if getattr(part, "use_cache", False):
            part.use_cache = False


def task_text(kind, library, stem, dtype):
    of_floats = f"lambda value: value.to(torch.{HALVES[dtype]}) if value.is_floating_point() else value" if dtype else ""
    return TEMPLATE.format(library=library, module=kind.__module__, name=kind.__name__, file=stem, stars="**" if library == "diffusers" else "",
                           cast=f".to(torch.{HALVES[dtype]})" if dtype else "",
                           inputs=f"_pytree.tree_map_only(torch.Tensor, {of_floats}, INPUTS)" if dtype else "INPUTS")


def import_tests(name):
    """Tests of another version than the installed library's ask for names that it doesn't have: empty classes will do."""
    while True:
        try:
            return importlib.import_module(name)
        except ImportError as error:
            missing = re.match(r"cannot import name '(\w+)' from '([\w.]+)'", str(error))
            if not missing or hasattr(sys.modules[missing[2]], missing[1]):
                raise
            setattr(sys.modules[missing[2]], missing[1], type(missing[1], (), {}))


def own_classes(module):
    return [kind for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__]


def of_transformers(module, classes):
    for kind in own_classes(module):
        if not getattr(kind, "all_model_classes", ()) or not hasattr(kind, "_prepare_for_class"):
            continue
        case = kind(next(name for name in dir(kind) if name.startswith("test_")))
        case.setUp()
        torch.manual_seed(0)
        configuration, inputs = case.model_tester.prepare_config_and_inputs_for_common()
        for model in case.all_model_classes[:classes]:
            yield model, configuration, dict(case._prepare_for_class(copy.deepcopy(inputs), model))


def of_diffusers(module, classes):
    seen = set()
    for kind in own_classes(module):
        if not hasattr(kind, "get_init_dict") or not hasattr(kind, "get_dummy_inputs"):
            continue
        case = kind()
        if case.model_class not in seen:
            seen.add(case.model_class)
            yield case.model_class, case.get_init_dict(), case.get_dummy_inputs()


if __name__ == "__main__":
    main()
