"""What the model answers in a numerics class, or in float64; the model stays as it was."""

import copy
import time

import torch

from ..base import dtypes, safetensors
from ..base.errors import TaskError
from ..base.requests import Requests, request
from ..export.carried import state
from . import numerics
from .copies import copied
from .distances import all_finite
from .float64 import native_dtype, observe, observe_float64
from .model import DEVICES, seconds_since

MODES = ("float64", *numerics.CLASSES)


def evaluate(loaded, tensors, mode, device, seed, elsewhere=True, moved=(0, 0)):
    """(Seen, facts). tensors: the inputs, flat. elsewhere: where the GPU has no room for float64, the CPU does it. moved: what weights
    change by in float64, relative, and the seed of it."""
    with loaded.task.stage("forward", "forward failed"):
        if mode == "float64":
            seen, device, random = evaluate_float64(loaded, tensors, device, seed, elsewhere, moved)
        else:
            device = loaded.device
            seen, random = watch_generator(device, seed, lambda: evaluate_class(loaded, tensors, mode))
    for i, output in enumerate(seen.outputs):
        if not isinstance(output, torch.Tensor):
            raise TaskError("forward", f"output {i} of forward is {output!r}, not a tensor", "", "Return tensors only.")
    finite = all(all_finite(output) for output in seen.outputs)
    return seen, {"device": device.type, "random": random, "finite": finite}


def evaluate_class(loaded, tensors, mode):
    arguments, keywords = loaded.arguments(tensors)
    return observe(copied(loaded.model), arguments, keywords, numerics.pinned(mode, loaded.device), tensors, state(loaded.model))


def evaluate_float64(loaded, tensors, device, seed, elsewhere, moved):
    """On the GPU where it fits, and where it has the operator in float64; on the CPU otherwise."""
    native = native_dtype(loaded.model, tensors)

    def run(model, device):
        if moved[0]:
            model = with_moved_weights(model, *moved)
        return watch_generator(device, seed, lambda: observe_float64(model, *loaded.arguments(tensors, device, wide=True), native, tensors))

    if device.type == "cuda":
        try:
            seen, random = run(loaded.model, device)
            return seen, device, random
        except RuntimeError as error:
            full = isinstance(error, torch.OutOfMemoryError)
            if not (full and elsewhere or any(word in str(error) for word in GPU_LACKS)):
                raise
        torch.cuda.empty_cache()
    cpu = torch.device("cpu")
    seen, random = run(copy.deepcopy(loaded.model).to(cpu), cpu)
    return seen, cpu, random


def with_moved_weights(model, moved, seed):
    model = copied(model, lambda tensor: tensor.double() if tensor.is_floating_point() else tensor.clone())
    generator = None
    for parameter in model.parameters():
        if parameter.is_floating_point():
            generator = generator or torch.Generator(parameter.device).manual_seed(seed)
            noise = torch.rand(parameter.shape, dtype=torch.float64, device=parameter.device, generator=generator)
            parameter.data = parameter.data.double() * (1 + moved * (2 * noise - 1))
    return model


GPU_LACKS = ("cuDNN", "CUDNN", "not implemented for", "unable to find an engine", "Unable to find a valid")


def watch_generator(device, seed, run):
    """(result, whether random numbers were drawn)."""
    torch.manual_seed(seed)
    before = generator_states(device)
    result = run()
    after = generator_states(device)
    return result, any(not torch.equal(a, b) for a, b in zip(before, after))


def generator_states(device):
    states = [torch.get_rng_state()]
    return [*states, torch.cuda.get_rng_state(device)] if device.type == "cuda" else states


def check_carried(seen, updates, loaded):
    """Raises a TaskError if forward changed state that the graph has no update for. Tensors outside the state dict were checked when
    the model was traced (export/carried.py)."""
    state = loaded.tensors()
    known, persistent = {id(state[name]) for name in updates}, loaded.model.state_dict()
    lost = [name for name in seen.updates if name in persistent and id(state[name]) not in known]
    if lost:
        raise TaskError(
            "state",
            f"forward changes {lost[0]!r}, and the imported graph does not",
            "",
            "This is a fault of StitchCUDA's import; please report it with the task.",
        )


def named(seen, wanted=None, loaded=None):
    """{name: tensor} as it is written down. wanted: names of state whose value is wanted even if it didn't change."""
    tensors = {f"output_{i}": output for i, output in enumerate(seen.outputs)}
    state = loaded.tensors() if wanted else {}
    updates = seen.updates if wanted is None else {name: seen.updates.get(name, state[name]) for name in wanted}
    tensors.update({f"update:{name}": tensor for name, tensor in updates.items()})
    tensors.update({f"update:input_{i}": tensor for i, tensor in seen.inputs.items()})
    return tensors


class EvaluateRequests(Requests):
    def __init__(self, model):
        self.model = model

    @request
    def evaluate(
        self, inputs: str, mode: MODES, out: str, device: DEVICES = None, seed: int = 42, updates: list = None, moved: float = 0.0, moved_by: int = 0
    ):
        start = time.monotonic()
        loaded = self.model.need()
        device = torch.device(device) if device else loaded.device
        if device != loaded.device and (mode != "float64" or device.type != "cpu"):
            raise TaskError("request", f"{mode} runs on {loaded.device.type}, where the task was loaded")
        tensors = loaded.check(read_inputs(loaded, inputs), "the inputs have other shapes or dtypes than the task's")
        seen, facts = evaluate(loaded, tensors, mode, device, seed, moved=(moved, moved_by))
        unknown = [name for name in updates or [] if name not in loaded.tensors()]
        if unknown:
            raise TaskError("request", f"the model has no state named {unknown[0]!r}")
        if updates is not None:
            check_carried(seen, updates, loaded)
        tensors = named(seen, updates, loaded)
        safetensors.write_mapped(out, tensors)
        described = [{"name": name, "dtype": dtypes.name(tensor.dtype), "shape": list(tensor.shape)} for name, tensor in tensors.items()]
        del seen, tensors
        self.model.give_back()
        return {**facts, "tensors": described, "seconds": seconds_since(start)}


def read_inputs(loaded, path):
    stored = safetensors.read(path)
    missing = [i for i in range(len(loaded.forms)) if f"input_{i}" not in stored]
    if missing:
        raise TaskError("inputs", f"{path} lacks input_{missing[0]}")
    return [stored[f"input_{i}"] for i in range(len(loaded.forms))]
