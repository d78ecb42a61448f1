"""What the model answers in a numerics class, or in float64; the model stays as it was."""

import copy

import torch

from ..base import safetensors
from ..base.errors import TaskError
from ..base.requests import Requests, request
from ..export.carried import state
from . import numerics
from .copies import copied
from .float64 import native_dtype, observe, observe_float64
from .model import DEVICES

MODES = ("float64", *numerics.CLASSES)


def evaluate(loaded, tensors, mode, device, seed, elsewhere=True, moved=(0, 0)):
    """(Seen, the device that it ran on). tensors: the inputs, flat. elsewhere: where the GPU has no room for float64, the CPU does it. moved: what weights
    change by in float64, relative, and the seed of it."""
    with loaded.task.stage("forward", "forward failed"):
        if mode == "float64":
            seen, device = evaluate_float64(loaded, tensors, device, seed, elsewhere, moved)
        else:
            torch.manual_seed(seed)
            seen, device = evaluate_class(loaded, tensors, mode), loaded.device
    for i, output in enumerate(seen.outputs):
        if not isinstance(output, torch.Tensor):
            raise TaskError("forward", f"output {i} of forward is {output!r}, not a tensor", "", "Return tensors only.")
    return seen, device


def evaluate_class(loaded, tensors, mode):
    arguments, keywords = loaded.arguments(tensors)
    return observe(copied(loaded.model), arguments, keywords, numerics.pinned(mode, loaded.device), tensors, state(loaded.model))


def evaluate_float64(loaded, tensors, device, seed, elsewhere, moved):
    """On the GPU where it fits, and where it has the operator in float64; on the CPU otherwise."""
    native = native_dtype(loaded.model, tensors)

    def run(model, device):
        if moved[0]:
            model = with_moved_weights(model, *moved)
        torch.manual_seed(seed)
        return observe_float64(model, *loaded.arguments(tensors, device, wide=True), native, tensors)

    if device.type == "cuda":
        try:
            return run(loaded.model, device), device
        except RuntimeError as error:
            full = isinstance(error, torch.OutOfMemoryError)
            if not (full and elsewhere or any(word in str(error) for word in GPU_LACKS)):
                raise
        torch.cuda.empty_cache()
    cpu = torch.device("cpu")
    return run(copy.deepcopy(loaded.model).to(cpu), cpu), cpu


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


def check_carried(seen, updates, loaded):
    """Raises a TaskError if forward changed state that the graph has no update for. Tensors outside the state dict were checked when
    the model was traced (export/carried.py)."""
    state = loaded.state()
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
    state = loaded.state() if wanted else {}
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
        loaded = self.model.need()
        device = torch.device(device) if device else loaded.device
        if device != loaded.device and (mode != "float64" or device.type != "cpu"):
            raise TaskError("request", f"{mode} runs on {loaded.device.type}, where the task was loaded")
        tensors = loaded.check(read_inputs(loaded, inputs), "the inputs have other shapes or dtypes than the task's")
        seen, device = evaluate(loaded, tensors, mode, device, seed, moved=(moved, moved_by))
        unknown = [name for name in updates or [] if name not in loaded.state()]
        if unknown:
            raise TaskError("request", f"the model has no state named {unknown[0]!r}")
        if updates is not None:
            check_carried(seen, updates, loaded)
        safetensors.write_mapped(out, named(seen, updates, loaded))
        del seen, tensors
        self.model.give_back()
        return {"device": device.type}


def read_inputs(loaded, path):
    stored = safetensors.read(path)
    missing = [i for i in range(len(loaded.forms)) if f"input_{i}" not in stored]
    if missing:
        raise TaskError("inputs", f"{path} lacks input_{missing[0]}")
    return [stored[f"input_{i}"] for i in range(len(loaded.forms))]
