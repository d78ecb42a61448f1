"""Runs an exported program (aten.json) in float64, node by node; the caller may replace every value on the way.

Nothing is written in place, so that autograd sees every value: a write makes a new tensor under the old name.
"""

import contextlib

import torch

from ..base import dtypes
from .float64 import LOW, rms_norm_eps, widen

aten = torch.ops.aten
SAME = {
    "aten.detach.default",
    "aten.detach_.default",
    "aten.alias.default",
    "aten.lift_fresh_copy.default",
    "aten.clone.default",
    "aten.contiguous.default",
}
RANDOM = ("aten.rand", "aten.bernoulli", "aten.multinomial", "aten.normal", "aten.exponential", "aten.uniform", "aten.poisson")
DROPOUTS = ("aten.dropout", "aten.native_dropout", "aten.alpha_dropout", "aten.feature_dropout", "aten.rrelu")
VIEWS = {"aten.view.default", "aten._unsafe_view.default"}
KEEPING = ("aten.dropout", "aten.alpha_dropout", "aten.feature_dropout")  # all of their input where they drop nothing


class Unmeasured(Exception):
    """Why a program can't be run this way."""


class Program:
    """touch(kind, name, tensor): what takes a tensor's place. kind: "value", or "operand" with the name (node, argument)."""

    def __init__(self, document, state, inputs, touch, native=torch.float32, device=None):
        self.document, self.touch, self.native, self.device = document, touch, native, device
        self.values, self.updates, self.units, self.parted = {}, {}, {}, set()
        self.leaves = {entry["name"] for entry in document["values"]}
        positions = {entry["index"]: n for n, entry in enumerate(e for e in document["values"] if e["role"] == "input")}
        for entry in document["values"]:
            if entry["role"] == "input":
                tensor = inputs[positions[entry["index"]]]
            elif entry["data"] in state or entry["name"] in state:
                tensor = state[entry["name"] if entry["name"] in state else entry["data"]]
            else:
                raise Unmeasured(f"'{entry['name']}' is a constant of the exported program alone")
            self.bind(entry["name"], widen(tensor.detach()))

    def run(self):
        """{output_0: tensor, …, update:NAME: tensor} of those that are floating point."""
        last = last_uses(self.document)
        for number, node in enumerate(self.document["nodes"]):
            self.read_later = {name for name in self.values if last.get(name, -1) > number}
            self.step(node)
        results = {f"output_{i}": self.values[entry["value"]] for i, entry in enumerate(self.document["outputs"])}
        results.update({f"update:{name}": tensor for name, tensor in self.updates.items()})
        return {name: tensor for name, tensor in results.items() if tensor.is_floating_point()}

    def bind(self, name, tensor):
        self.values[name] = self.touch("value", name, tensor) if tensor.is_floating_point() else tensor

    def step(self, node):
        name, outputs = node["op"], [entry and entry["name"] for entry in node["outputs"]]
        if not outputs and not name.split(".")[1].endswith("_"):
            return  # assertions
        if not name.startswith("aten."):
            raise Unmeasured(f"{name} is no operator of ATen's")
        if name.startswith(RANDOM) or name.startswith(DROPOUTS) and drops(node["args"]):
            raise Unmeasured(f"{name} draws random numbers")
        if name.startswith(KEEPING):
            self.values[outputs[0]] = self.values[argument(node, "self", "input")["value"]]
            return
        if name in SAME:
            same = self.values[argument(node, "self", "input")["value"]]
            # A later view may rely on the strides it makes.
            moves = name == "aten.contiguous.default" or node["args"].get("memory_format") is not None
            return self.bind(outputs[0], same.contiguous() if moves else same)
        if name == "aten.batch_norm.default" and node["args"]["training"]:
            self.renew_statistics(node["args"])
        operator = find(name)
        if operator._schema.is_mutable:
            return self.write(node, operator, outputs)
        results = self.view(node, operator, outputs[0]) if name in VIEWS else self.call(node, operator)
        for output, result in zip(outputs, results if isinstance(results, (list, tuple)) else [results]):
            if output:
                self.bind(output, result)

    def call(self, node, operator):
        product = PRODUCTS.get(node["op"].split(".")[1], ())
        owner = node["outputs"][0]["name"] if node["outputs"] else ""
        positional, keyword = [], {}
        for slot in operator._schema.arguments:
            value = self.decode(node["args"].get(slot.name), slot)
            if slot.name in product:
                value = self.operands(value, owner, slot.name)
            if node["op"].startswith("aten.rms_norm") and slot.name == "eps" and value is None:
                value = rms_norm_eps(self.native)
            if slot.name in ("running_mean", "running_var") and value is not None:  # autograd knows no derivative by them
                value = None if node["op"] == "aten.batch_norm.default" and node["args"]["training"] else value.detach()
            if slot.kwarg_only:
                keyword[slot.name] = value
            else:
                positional.append(value)
        with torch.backends.cudnn.flags(enabled=False) if node["op"].split(".")[1] in RECURRENCES else contextlib.nullcontext():
            return operator(*positional, **keyword)

    def view(self, node, operator, output):
        """A copy, which must not be written to, if this device's operators gave strides that the view can't have."""
        try:
            return self.call(node, operator)
        except RuntimeError:
            source = argument(node, "self")["value"]
            self.parted.update((source, output))
            return self.values[source].reshape(self.decode(argument(node, "size", "shape"), None))

    def operands(self, value, owner, slot):
        if isinstance(value, (list, tuple)):
            return [self.operands(each, owner, f"{slot}.{i}") for i, each in enumerate(value)]
        floating = isinstance(value, torch.Tensor) and value.is_floating_point()
        return self.touch("operand", (owner, slot), value) if floating else value

    def decode(self, value, slot):
        if isinstance(value, list):
            return [self.decode(each, slot) for each in value]
        if not isinstance(value, dict):
            return value
        if "value" in value:
            return self.values[value["value"]]
        if "float" in value:
            return float(value["float"])
        if "dtype" in value:
            dtype = dtypes.by_name(value["dtype"])
            return torch.float64 if dtype in LOW else dtype
        return self.device if "Device" in str(slot.type) else None

    def write(self, node, operator, outputs):
        """x.add_(y) as x = x + y, for every name of x."""
        plain = find(node["op"].replace("_.", ".", 1)) if node["op"].split(".")[1].endswith("_") else None
        if plain is None:
            raise Unmeasured(f"{node['op']} writes in place")
        target = node["args"][operator._schema.arguments[0].name]["value"]
        old = self.values[target]
        if target in self.parted:
            raise Unmeasured(f"{node['op']} writes to a view that had to be copied")
        names = [name for name, tensor in self.values.items() if tensor is old]
        others = (tensor for name, tensor in self.values.items() if name in self.read_later)
        if any(tensor is not old and shares_memory(tensor, old) for tensor in others):
            raise Unmeasured(f"{node['op']} writes to memory that others see")
        arguments = {to.name: node["args"].get(of.name) for of, to in zip(operator._schema.arguments, plain._schema.arguments)}
        new = self.call({**node, "op": node["op"].replace("_.", ".", 1), "args": arguments}, plain)
        if new.shape != old.shape:
            new = new.expand(old.shape)
        own = outputs[0] if outputs and outputs[0] else target
        label = graph_name(own)
        new = self.touch("value", own if label in self.values else label, new) if new.is_floating_point() else new
        for name in (own, *names):
            self.values[name] = new
            if name in self.leaves:
                self.updates[name] = new

    def renew_statistics(self, arguments):
        """The running statistics that batch_norm updates implicitly."""
        x, momentum = self.values[arguments["input"]["value"]], arguments["momentum"]
        if not arguments["running_mean"]:
            return
        rest = [d for d in range(x.dim()) if d != 1]
        fresh = {"running_mean": x.mean(rest), "running_var": x.var(rest, unbiased=x.numel() > x.shape[1])}
        for slot, value in fresh.items():
            name = arguments[slot]["value"]
            self.updates[name] = self.values[name] = (1 - momentum) * self.values[name] + momentum * value
        # Eval mode divides by the running deviation: errors of the running mean are measured in it.
        variance = self.updates[arguments["running_var"]["value"]].detach()
        self.units["update:" + arguments["running_mean"]["value"]] = variance.numel() ** 0.25 * float(variance.norm()) ** 0.5


RECURRENCES = ("lstm", "gru", "rnn_tanh", "rnn_relu")
CONVOLUTIONS = ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution", "_convolution")
# What is multiplied, and may be rounded right before that.
PRODUCTS = {
    **{name: ("input", "weight") for name in (*CONVOLUTIONS, "linear")},
    "mm": ("self", "mat2"),
    "bmm": ("self", "mat2"),
    "matmul": ("self", "other"),
    "addmm": ("mat1", "mat2"),
    "baddbmm": ("batch1", "batch2"),
    "addbmm": ("batch1", "batch2"),
    "mv": ("self", "vec"),
    "dot": ("self", "tensor"),
    "einsum": ("tensors",),
    "bilinear": ("input1", "input2", "weight"),
    "scaled_dot_product_attention": ("query", "key", "value"),
    **{name: ("input", "params") for name in RECURRENCES},
}


def find(name):
    _, packet, overload = name.split(".", 2)
    found = getattr(aten, packet, None)
    if found is None or not hasattr(found, overload):
        raise Unmeasured(f"this PyTorch has no {name}")
    return getattr(found, overload)


def graph_name(name):
    """What the graph calls a value that PyTorch calls relu_ or relu__3: it is no longer in place (src/import/aten/table.cpp)."""
    return name.replace("__", "_", 1) if "__" in name else name.removesuffix("_")


def last_uses(document):
    """{value: the last node that reads it}; past all of them where it is an output, or state that is renewed."""
    last = {}
    for number, node in enumerate(document["nodes"]):
        for name in values_in(node["args"]):
            last[name] = number
    for entry in document["outputs"]:
        last[entry["value"]] = len(document["nodes"])
    for entry in document["values"]:
        if entry["role"] != "input":
            last[entry["name"]] = len(document["nodes"])
    return last


def values_in(arguments):
    if isinstance(arguments, dict):
        if isinstance(arguments.get("value"), str):
            yield arguments["value"]
        else:
            for each in arguments.values():
                yield from values_in(each)
    elif isinstance(arguments, list):
        for each in arguments:
            yield from values_in(each)


def argument(node, *names):
    return next(node["args"][name] for name in names if name in node["args"])


def drops(arguments):
    return bool(arguments.get("train", arguments.get("training", True))) and arguments.get("p", 1) not in (0, 0.0)


def shares_memory(a, b):
    return a.numel() > 0 and b.numel() > 0 and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
