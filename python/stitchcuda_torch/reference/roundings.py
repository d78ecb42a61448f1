"""What the rounding of each value, and of each operand of a product, does to a model's outputs.

To first order an error δ of a value moves an output by J δ. With a random vector u in the output's space, one backward pass
gives g = uᵀ J for every value of the model at once, and E[Σ (gᵢ δᵢ)²] = Σ δᵢ² ‖Jᵢ‖² is the square of the error to expect of
roundings that don't know of each other. So a few passes measure any number of regions. The tests hold it against rounding for
real, one place at a time.
"""

import copy
import json
import math
import os
import time

import torch

from ..base import safetensors
from ..base.errors import TaskError, first_line
from ..base.requests import Requests, request
from ..device.gpu_lock import HELD, GpuLock
from ..export import record, trace
from . import distributions, numerics
from .evaluate import MODES, evaluate, named
from .float64 import native_dtype
from .interpret import Program, Unmeasured
from .numerics import round_to_tf32

OWN_GROUPS = 4  # outputs measured one by one; others together
TF32, FP16, BF16, SCALE = range(4)
PRECISIONS = ("tf32", "fp16", "bf16")
LONG = 2.0  # seconds: then every group has had its pass, and there is no other
HUGE = 1e300  # in place of infinity, which JSON hasn't


def rounded(x, precision):
    """A float64 tensor as it would be stored, in float64 again."""
    if precision == "tf32":
        return round_to_tf32(x.float()).double()
    return x.to(torch.float16 if precision == "fp16" else torch.bfloat16).double()


class Meter:
    """Collects, group by group, Σ (g δ)² for each place and precision, and what a common factor would do."""

    def __init__(self, native=torch.float32):
        self.shares, self.largest, self.group, self.native = {}, {}, 0, native

    def touch(self, kind, name, tensor):
        place = (kind, name)
        self.shares.setdefault(place, {})  # in the program's order
        if kind == "value":
            self.largest[place] = tensor.detach().abs().max() if tensor.numel() else torch.zeros((), dtype=torch.float64)
        return Tap.apply(tensor.requires_grad_() if tensor.is_leaf else tensor, self, place)

    def add(self, place, gradient, value):
        sums = []
        for precision in PRECISIONS if self.native == torch.bfloat16 else PRECISIONS[:2]:
            sums.append((gradient * (rounded(value, precision) - value)).square().sum())
        if len(sums) < len(PRECISIONS):
            sums.append(64 * sums[TF32])  # three bits less of the same range
        moved = gradient * value
        sums.append((moved.reshape(moved.shape[0], -1) if moved.dim() > 1 else moved.reshape(1, -1)).sum(1).square().sum())
        entry = self.shares[place]
        entry[self.group] = entry.get(self.group, 0) + torch.stack(sums)

    def table(self, kind, passes):
        """{name: [[tf32, fp16, bf16, scale] of each group]}. passes: by group."""
        out = {}
        for (kind_, name), entry in self.shares.items():
            if kind_ == kind:
                out[name] = [clean(entry[g] / passes[g]) if g in entry else [0.0] * 4 for g in range(len(passes))]
        return out


class Tap(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, meter, place):
        ctx.save_for_backward(tensor)
        ctx.meter, ctx.place = meter, place
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx, gradient):
        with torch.no_grad():
            ctx.meter.add(ctx.place, gradient, ctx.saved_tensors[0].detach())
        return gradient, None, None


def clean(tensor):
    return [x if math.isfinite(x) else HUGE for x in tensor.tolist()]


def measure(document, state, inputs, own, floor, native, device, probes, seed, pause=lambda: None):
    """own: {output: PyTorch's, in its class}. pause: called between passes. The answer of the request `roundings`."""
    start, meter = time.monotonic(), Meter(native)
    with torch.enable_grad():
        program = Program(document, state, inputs, meter.touch, native, device)
        results = {name: tensor for name, tensor in program.run().items() if tensor.requires_grad and tensor.numel()}
    units = {name: max(float(tensor.detach().norm()), program.units.get(name, 0.0)) for name, tensor in results.items()}
    results = {name: tensor for name, tensor in results.items() if 0 < units[name] < math.inf}
    errors = {name: own_error(own[name], tensor.detach()) / units[name] if name in own else 0.0 for name, tensor in results.items()}
    groups = grouped(results)
    generator = torch.Generator(device or "cpu").manual_seed(seed)
    passes, paused = [0] * len(groups), 0.0
    for _ in range(probes):
        if passes[0] and time.monotonic() - start - paused > LONG:
            break
        for number, (_, names) in enumerate(groups):
            meter.group = number
            vectors = [probe(results[name], units[name], errors, floor, name, names, generator) for name in names]
            before = time.monotonic()
            pause()
            paused += time.monotonic() - before
            torch.autograd.backward([results[name] for name in names], vectors, retain_graph=True)
            passes[number] += 1
    modules = {entry["name"]: node["module"] for node in document["nodes"] for entry in node["outputs"] if entry}
    operands = {}
    for (owner, slot), shares in meter.table("operand", passes).items():
        operands.setdefault(owner, {"module": modules.get(owner, ""), "slots": []})["slots"].append({"slot": slot, "shares": shares})
    for node in document["nodes"]:  # a batch norm that is folded into the product before it leaves its own name
        if node["op"] == "aten.batch_norm.default" and node["args"]["input"]["value"] in operands:
            operands[node["outputs"][0]["name"]] = {**operands[node["args"]["input"]["value"]], "module": ""}
    operands.update(joined_operands(document, operands))
    values = meter.table("value", passes)
    return {
        "groups": [{"name": name, "outputs": names} for name, names in groups],
        "outputs": {name: {"error": errors[name], "norm": units[name], "elements": results[name].numel()} for name in results},
        "values": {name: {"shares": shares, "largest": clean(meter.largest[("value", name)].reshape(1))[0]} for name, shares in values.items()},
        "operands": operands,
    }


def joined_operands(document, operands):
    """Products whose results are concatenated may become one (algebra-joined-convolutions): its error is all of theirs."""
    makers = {entry["name"]: node for node in document["nodes"] for entry in node["outputs"] if entry}

    def product(name):
        while name not in operands and name in makers and len(makers[name]["args"]) == 1 and "value" in (makers[name]["args"].get("self") or {}):
            name = makers[name]["args"]["self"]["value"]
        return operands.get(name)

    out = {}
    for node in document["nodes"]:
        if node["op"] != "aten.cat.default":
            continue
        parts = [product(each.get("value")) for each in node["args"]["tensors"]]
        if all(parts) and len({len(part["slots"]) for part in parts}) == 1:
            name = node["outputs"][0]["name"]
            out[name] = out[name + ".joined"] = {
                "module": "",
                "slots": [
                    {
                        "slot": slots[0]["slot"],
                        "shares": [[sum(numbers) for numbers in zip(*groups)] for groups in zip(*(slot["shares"] for slot in slots))],
                    }
                    for slots in zip(*(part["slots"] for part in parts))
                ],
            }
    return out


def own_error(own, exact):
    own = own.to(exact.device).double()
    if bool((exact.isfinite() & ~own.isfinite()).any()):
        raise Unmeasured("PyTorch itself overflows on these inputs")
    return min(float((own - exact).norm()), HUGE)


def grouped(results):
    """[(name, outputs)]: outputs that are looked at one by one, the rest of them together, and renewed state together."""
    outputs = [name for name in results if name.startswith("output_")]
    groups = [(name, [name]) for name in outputs[:OWN_GROUPS]]
    for name, rest in (("other outputs", outputs[OWN_GROUPS:]), ("updates", [n for n in results if n not in outputs])):
        if rest:
            groups.append((name, rest))
    return groups


def probe(tensor, unit, errors, floor, name, names, generator):
    """Of one output: its relative error. Of several: the mean square of their errors in units of PyTorch's own."""
    vector = torch.randn(tensor.shape, generator=generator, device=tensor.device, dtype=tensor.dtype) / unit
    return vector if len(names) == 1 else vector / (max(errors[name], floor) * math.sqrt(len(names)))


class Exported:
    """The document that the exporter wrote for C++, if it wrote it here; else it is made again."""

    def __init__(self):
        self.document, self.constants = None, {}

    def overhearing(self, request, channel):
        return Overhearing(self, request, channel)

    def read(self, folder):
        try:
            with open(os.path.join(folder, "aten.json")) as file:
                document = json.load(file)
            constants = [entry["data"] for entry in document["values"] if entry["role"] == "constant"]
            stored = safetensors.read(os.path.join(folder, "weights.safetensors")) if constants else {}
            self.constants = {name: stored[name].clone() for name in constants}
            self.document = document
        except (OSError, ValueError, KeyError):
            self.document = None  # made again when it is needed

    def need(self, loaded):
        if self.document is None:
            model = copy.deepcopy(loaded.model).cpu()
            program = trace.export(model, trace.fake_inputs(loaded.task), loaded.task.file, draw=lambda i: loaded.task.make_inputs(i))
            self.document, weights = record.record(program, loaded.task.file)
            self.constants = {e["data"]: weights[e["data"]] for e in self.document["values"] if e["role"] == "constant"}
        return self.document


class Overhearing:
    """A channel that reads an export's document before reporting that it is done."""

    def __init__(self, exported, request, channel):
        self.exported, self.channel = exported, channel
        try:
            self.folder = json.loads(request).get("out")
        except (ValueError, AttributeError):
            self.folder = None

    def send(self, message):
        if "done" in message and isinstance(self.folder, str):
            self.exported.read(self.folder)
        self.channel.send(message)

    def __getattr__(self, name):
        return getattr(self.channel, name)


def shares(loaded, exported, inputs, mode, floor, probes, seed, lock=HELD):
    """The answer, or {"unavailable": why}. lock: of the GPU; pending exclusive users go first between passes."""
    try:
        document = exported.need(loaded)
        own = named(evaluate(loaded, inputs, mode, loaded.device, 42)[0])
        lock.make_way()
        state = {**exported.constants, **loaded.state()}
        state = {name: tensor.to(loaded.device) for name, tensor in state.items()}
        native = native_dtype(loaded.model, inputs)
        return measure(document, state, inputs, own, floor, native, loaded.device, probes, seed, lock.make_way)
    except Unmeasured as reason:
        return {"unavailable": str(reason)}
    except torch.OutOfMemoryError:
        return {"unavailable": "there is no memory for a backward pass in float64"}
    except TaskError as error:
        return {"unavailable": error.message}
    except (RuntimeError, TypeError, NotImplementedError, KeyError, IndexError) as error:  # an operator that can't, this way
        return {"unavailable": f"{type(error).__name__}: {first_line(error)}"}


class RoundingRequests(Requests):
    def __init__(self, model, inputs):
        self.model, self.inputs, self.exported = model, inputs, Exported()

    @request
    def arithmetic(self, convolutions: list, turns: str = None):
        lock = GpuLock(turns)
        with lock.shared():
            found = numerics.are_tf32(convolutions, self.model.need().device, lock=lock)
            self.model.give_back()
        return {"tf32": found, "waited": lock.waited}

    @request
    def roundings(
        self, mode: MODES, distribution: distributions.NAMES = "task", *, seed: int, floor: float = 1e-5, probes: int = 2, turns: str = None
    ):
        """What the rounding of each value and operand does to the outputs; or `unavailable`: why that isn't known."""
        start, lock = time.monotonic(), GpuLock(turns)
        loaded = self.model.need()
        with lock.shared():
            answer = shares(loaded, self.exported, self.inputs.drawn(distribution, seed), mode, floor, probes, seed, lock)
            self.model.collect()
        return {**answer, "seconds": round(time.monotonic() - start - lock.waited, 4), "waited": lock.waited}
