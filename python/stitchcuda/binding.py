"""A program's tensors, bound to a module's: what the C extension needs to call it."""

import re

import torch

from stitchcuda_torch.base import dtypes

from . import trees
from .errors import StitchError
from .tool import extension

DTYPES = {name: dtypes.by_name(name) for name in ("f64", "f32", "f16", "bf16", "i64", "i32", "i8", "u8", "bool")}  # in the order of StitchDtype
CODES = {name: code for code, name in enumerate(DTYPES)}


def strides_of(entry):
    if entry.get("strides"):
        return tuple(entry["strides"])
    strides, step = [], 1
    for size in reversed(entry["shape"]):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def wanted(entry):
    return CODES[entry["dtype"]], tuple(entry["shape"]), strides_of(entry)


def describe(dtype, shape):
    return f"{str(dtype).removeprefix('torch.')}{list(shape)}"


class Ranges:
    """The sizes that a program takes: where a call shows them, and shapes as formulas of them."""

    def __init__(self, manifest):
        self.all = manifest.get("sizes", [])
        self.order = [i for i, entry in enumerate(manifest["inputs"]) if entry["role"] == "input"]

    def shown(self, tensors):
        """The sizes of a call, as a tuple; of a program for one size the empty one."""
        return tuple(self.one(each, tensors) for each in self.all)

    def one(self, each, tensors):
        at, dim = each["places"][0]
        tensor = tensors[self.order.index(at)]
        size = tensor.shape[dim] if dim < tensor.dim() else 0
        if not each["least"] <= size <= each["most"] or size % each["multiple"]:
            by = f" in steps of {each['multiple']}" if each["multiple"] > 1 else ""
            raise trees.OtherCall(f"{each['name']} is {size}, and the program was made for {each['least']} to {each['most']}{by}")
        return size

    def example(self):
        return tuple(each["example"] for each in self.all)

    def entry(self, entry, sizes):
        """A tensor of the manifest at these sizes."""
        if not self.all:
            return entry
        names = {each["name"]: size for each, size in zip(self.all, sizes)}
        return {**entry, **{key: [evaluate(n, names) for n in entry[key]] for key in ("shape", "strides") if key in entry}}


def evaluate(number, names):
    if not isinstance(number, str):
        return number
    # A size's name may be a word of Python's. Positive integers: C's division rounds down as Python's // does.
    return eval(re.sub(r"[A-Za-z_]\w*", lambda name: str(names[name[0]]), number).replace("/", "//"), {"__builtins__": {}})


class WeightsDiffer(StitchError):
    """Weights of another shape, dtype or device than the program's, or none."""


class Binding:
    """Of a Folder and a call's trees; `find(name, device)` gives the module's tensor of that name, `places(tensors)` where
    the module keeps them."""

    def __init__(self, folder, call, find, places=lambda tensors: ()):
        self.folder, self.call, self.find, self.places = folder, call, find, places
        manifest = folder.manifest
        self.ranges = Ranges(manifest)
        self.parameters, self.inputs, self.outputs = manifest["parameters"], manifest["inputs"], manifest["outputs"]
        self.given = [entry for entry in self.inputs if entry["role"] == "input"]
        # Outputs that renew an input of the caller's.
        self.written = {entry["name"]: entry["target"] for entry in self.outputs if entry["role"] == "update" and not entry.get("data")}

    def pack(self, device):
        """The program with the weights of now, and these."""
        library = self.folder.library(device)
        weights = [self.tensor(entry, device) for entry in self.parameters]
        packed = tuple(self.lay_out(entry, weight) for entry, weight in zip(self.parameters, weights))
        module = extension()
        facts = packed, tuple(map(wanted, self.parameters)), device.index or 0
        try:
            program = module.Program(library, *facts)
        except OSError:  # built on another machine, or against an emulator that is gone
            program = module.Program(self.folder.rebuild(library, device), *facts)
        return program, weights

    def make(self, device, packed, sizes):
        """A Call of a packed program at these sizes."""
        program, weights = packed
        kind = (2, device.index or 0) if device.type == "cuda" else (1, 0)
        keyword, inputs, outputs = self.call["keyword"], tuple(self.bind_inputs(device, sizes)), tuple(self.bind_outputs(device, sizes))
        states = [bound[1] for bound in (*inputs, *outputs) if isinstance(bound[1], torch.Tensor)]
        return extension().Call(
            program,
            kind,
            tuple(map(trees.for_extension, self.call["positional"])),
            tuple(name for name, _ in keyword),
            tuple(trees.for_extension(tree) for _, tree in keyword),
            inputs,
            outputs,
            trees.for_extension(self.result_tree()),
            tuple(weights),
            tuple(self.places(weights + states)),
        )

    def result_tree(self):
        """The model's own structure; or all that is made, where some of it has to be copied into inputs."""
        if not self.written:
            return self.call["outputs"]
        return {"tuple": [{"output": i} for i, entry in enumerate(self.made())]}

    def made(self):
        return [entry for entry in self.outputs if not (entry["role"] == "update" and entry.get("data"))]

    def tensor(self, entry, device):
        found = self.find(entry["data"], device)
        if found is None:
            raise WeightsDiffer(f"the module has no tensor '{entry['data']}' any more, which the program was made for")  # pruned, parametrized
        if found.dtype is not DTYPES[entry["dtype"]] or list(found.shape) != entry["shape"] or found.device != device:
            raise WeightsDiffer(
                f"'{entry['data']}' is {describe(found.dtype, found.shape)} on {found.device}, and the program was made "
                f"for {describe(DTYPES[entry['dtype']], entry['shape'])} on {device}"
            )
        return found

    def lay_out(self, entry, tensor):
        tensor, strides = tensor.detach(), strides_of(entry)
        if all(a == b or n <= 1 for a, b, n in zip(tensor.stride(), strides, tensor.shape)):
            return tensor
        return torch.empty_strided(tuple(entry["shape"]), strides, dtype=tensor.dtype, device=tensor.device).copy_(tensor)

    def state(self, entry, device):
        tensor = self.tensor(entry, device)
        if not tensor.is_contiguous():
            raise StitchError(f"the buffer '{entry['data']}' must be contiguous")
        return tensor

    def bind_inputs(self, device, sizes):
        count = 0
        for entry in (self.ranges.entry(each, sizes) for each in self.inputs):
            if entry["role"] == "input":
                yield ("given", count, wanted(entry))
                count += 1
            elif entry["role"] == "state":
                yield ("state", self.state(entry, device), wanted(entry))
            else:
                yield ("seed", lambda: torch.randint(0, 2**63 - 1, (), dtype=torch.int64, device=device), wanted(entry))

    def bind_outputs(self, device, sizes):
        for entry in (self.ranges.entry(each, sizes) for each in self.outputs):
            if entry["role"] == "update" and entry.get("data"):
                yield (None, self.state(entry, device), wanted(entry))
            elif entry.get("strides"):
                maker = torch.empty(0, dtype=DTYPES[entry["dtype"]], device=device).new_empty_strided
                yield (maker, (tuple(entry["shape"]), strides_of(entry)), wanted(entry))
            else:
                maker = torch.empty(0, dtype=DTYPES[entry["dtype"]], device=device).new_empty
                yield (maker, (tuple(entry["shape"]),), wanted(entry))
