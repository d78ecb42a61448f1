"""Stands in for the optimizer in tests: programs that compute with PyTorch what the compiled ones would."""

import copy
import ctypes
import functools
import json
import os
import shutil
import subprocess
import tempfile
import warnings

import torch
from stitchcuda import binding, exporting, folder, search, tool, trees
from stitchcuda_torch.task import structure

HERE = os.path.dirname(os.path.abspath(__file__))


class StitchTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.c_int64 * 8), ("strides", ctypes.c_int64 * 8)]


POINTER = ctypes.POINTER(StitchTensor)
ON_CREATE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, POINTER, ctypes.c_int)
ON_RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, POINTER, ctypes.c_int, POINTER, ctypes.c_int)


@functools.cache
def stub_library():
    out = os.path.join(tempfile.mkdtemp(prefix="stitchcuda-stub-"), "stub.so")
    include = os.path.join(tool.CHECKOUT, "src", "program", "include")
    subprocess.run(["g++", "-std=c++17", "-O0", "-shared", "-fPIC", "-fvisibility=hidden", "-I" + include,
                    os.path.join(HERE, "stub_program.cpp"), "-o", out], check=True)
    return out


def tensor_of(entry):
    """The program's view of a tensor: its own memory."""
    dtype, shape = list(binding.DTYPES.values())[entry.dtype], tuple(entry.shape[:entry.rank])
    strides = tuple(entry.strides[:entry.rank])
    size = (1 + sum((n - 1) * s for n, s in zip(shape, strides))) * dtype.itemsize if 0 not in shape else 0
    if size == 0:
        return torch.empty(shape, dtype=dtype)
    raw = (ctypes.c_char * size).from_address(entry.data)
    return torch.frombuffer(raw, dtype=dtype).as_strided(shape, strides)


def manifest_of(exported):
    document = exported.document
    types = {v["name"]: v for v in document["values"] + [o for node in document["nodes"] for o in node["outputs"] if o]}
    entry = lambda name, role: {"name": name, "role": role, "dtype": types[name]["dtype"], "shape": types[name]["shape"],  # noqa: E731
                                **({"data": types[name]["data"]} if "data" in types[name] and role != "output" else {})}
    seen, parameters = set(), []
    for value in document["values"]:
        if value["role"] != "input" and value["data"] not in seen:
            seen.add(value["data"])
            parameters.append(entry(value["name"], value["role"]))
    return {"stitch": 1, "name": exported.name, "class": "default", "parameters": parameters,
            "inputs": [entry(v["name"], "input") for v in document["values"] if v["role"] == "input"],
            "outputs": [entry(o["value"], "output") for o in document["outputs"]], "regions": [], "libraries": []}


class FakeSearch:
    """In the place of search.search; `made` counts programs, `packed` how often weights were packed."""

    def __init__(self):
        self.made, self.packed, self.ran, self.kept = 0, 0, 0, []

    def __call__(self, task, out, **choices):
        os.makedirs(os.path.join(out, "build"))
        exported = self.exported
        with open(os.path.join(out, "manifest.json"), "w") as file:
            json.dump(manifest_of(exported), file)
        record = {"device": "emulated", "verdict": {"verdict": "passed"}, "regions": [], "budget": choices["budget"], "quick": choices["quick"],
                  "numerics": choices["numerics"]}
        with open(os.path.join(out, folder.RECORD), "w") as file:
            json.dump(record, file)
        for name in ("program.cu", "report.html"):
            with open(os.path.join(out, name), "w") as file:
                file.write("made up")
        library = os.path.join(out, "build", "emulated.so")
        shutil.copyfile(stub_library(), library)
        self.connect(library, exported)
        self.made += 1
        return out

    def connect(self, library, exported):
        names = [entry["data"] for entry in manifest_of(exported)["parameters"]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's own, of a copy's tree
            module = copy.deepcopy(exported.program.module(check_guards=False))
        call, weights = exported.call, {}

        def on_create(program, tensors, count):
            self.packed += 1
            weights[program] = {name: tensor_of(tensors[i]).clone() for i, name in enumerate(names)}
            return 0

        def on_run(program, inputs, n_in, outputs, n_out):
            self.ran += 1
            with torch.no_grad():
                for name, tensor in weights[program].items():
                    target = exporting.find_weight(module, name)
                    if target is not None:
                        target.copy_(tensor)
                arguments, keywords = arguments_of(call, [tensor_of(inputs[i]) for i in range(n_in)])
                results = [leaf for leaf in structure.leaves(module(*arguments, **keywords)) if isinstance(leaf, torch.Tensor)]
                for i in range(n_out):
                    tensor_of(outputs[i]).copy_(results[i])
            return 0

        functions = ON_CREATE(on_create), ON_RUN(on_run)
        self.kept.append(functions)
        ctypes.CDLL(library).stub_set(*functions)


def arguments_of(call, tensors):
    return [trees.build(tree, tensors) for tree in call["positional"]], {name: trees.build(tree, tensors) for name, tree in call["keyword"]}


class Installed:
    """with Installed() as fake: optimize() makes stubs, in a cache of its own."""

    def __enter__(self):
        self.fake, self.before = FakeSearch(), (search.search, exporting.export, os.environ.get("STITCHCUDA_CACHE"))
        self.folder = tempfile.TemporaryDirectory()
        os.environ["STITCHCUDA_CACHE"] = self.folder.name
        export = exporting.export

        def remember(*arguments, **keywords):
            self.fake.exported = export(*arguments, **keywords)
            return self.fake.exported

        search.search, exporting.export = self.fake, remember
        return self.fake

    def __exit__(self, *_):
        search.search, exporting.export, cache = self.before
        if cache is None:
            del os.environ["STITCHCUDA_CACHE"]
        else:
            os.environ["STITCHCUDA_CACHE"] = cache
        self.folder.cleanup()
