"""Scales weights from reparameterise.py down to what a model's dtypes can represent.

A gain that is too large adds up with depth. In fp16 a dozen blocks overflow, and where PyTorch itself overflows there is
nothing to compare with; in fp32 the signal grows until shifts no longer matter (ResNet-50: that of its last norm was
1e-16 of the output). So each product, in the order in which the model calls them, gets weights under which its result is no
larger than SIZE.
"""

import copy
import dataclasses
import math

import torch

from ..base import safetensors
from ..base.requests import Requests, request
from ..device.gpu_lock import GpuLock
from ..task import structure
from . import numerics
from .distances import all_finite
from .reparameterise import NORMS, PRODUCTS, mix, point, reparameterise

SIZE = 4.0  # root mean square: shifts of 0.5 still matter, and so do inputs after fifty layers
ROOM = 16  # times what the model makes of these inputs fits its dtypes: of others it may make more
SHRINKING = (1.0, 0.5, 0.25, 0.125)  # of every matrix: for products that are no modules
STEP, LEAST = 2.0**-6, 2.0**-24  # of a product that overflows


@dataclasses.dataclass
class Scaling:
    """What a draw of weights is multiplied by."""

    shrink: float
    scales: dict  # of a product's parameters, by the module's name: powers of two, which round nothing
    room: bool = False


def find_room(loaded, original, inputs, mode, seed, faint):
    """The first draw that has room in the class and on these inputs, or the last one. original: {name: the task's own weights}."""
    for shrink in SHRINKING:
        scaling = Scaling(shrink, {})
        draw_scaled(loaded, original, scaling, seed, faint)
        scaling.scales = find_scales(loaded, inputs, mode, seed)
        draw_scaled(loaded, original, scaling, seed, faint)
        scaling.room = fits(loaded, inputs, mode, seed)
        if scaling.room:
            break
    return scaling


def draw_scaled(loaded, original, scaling, seed, faint):
    with torch.no_grad():
        for name, tensor in loaded.state().items():
            tensor.copy_(original[name])
        reparameterise(loaded.model, seed, faint, scaling.shrink)
        for name, scale in scaling.scales.items():
            scale_parameters(loaded.model.get_submodule(name), scale)


def scale_parameters(module, scale):
    for tensor in module._parameters.values():
        if tensor is not None:
            tensor.mul_(scale)


def find_scales(loaded, inputs, mode, seed):
    scales = {}

    def hold(module, arguments, keywords, output):
        size = size_of(output)
        while size > SIZE and scales.get(module, 1.0) > LEAST:
            step = 2.0 ** -math.ceil(math.log2(size / SIZE)) if size < float("inf") else STEP
            scale_parameters(module, step)
            scales[module] = scales.get(module, 1.0) * step
            output = module.forward(*arguments, **keywords)
            size = size_of(output)
        return output

    model, _ = hooked(loaded, PRODUCTS, hold, inputs, mode, seed)
    return {name: scales[module] for name, module in model.named_modules() if module in scales}


def fits(loaded, inputs, mode, seed):
    full = []

    def look(module, arguments, keywords, output):
        if not full and any(is_full(value) for value in (*arguments, *keywords.values(), output)):
            full.append(module)

    _, outputs = hooked(loaded, NORMS + PRODUCTS, look, inputs, mode, seed)
    return not full and all(all_finite(output) for output in outputs)


def is_full(value):
    if not isinstance(value, torch.Tensor) or not value.is_floating_point() or not value.numel():
        return False
    smallest, largest = torch.aminmax(value)
    limit = torch.finfo(value.dtype).max / ROOM
    return not bool((smallest >= -limit) & (largest <= limit))  # so is NaN


def size_of(tensor):
    """Its root mean square."""
    return float(torch.linalg.vector_norm(tensor, dtype=torch.float64)) / max(1, tensor.numel()) ** 0.5


def hooked(loaded, kinds, hook, inputs, mode, seed):
    """(the copy of the model that ran, its outputs): one pass in the class, with the hook behind each module of these kinds."""
    model = copy.deepcopy(loaded.model)
    for module in model.modules():
        if isinstance(module, kinds):
            module.register_forward_hook(hook, with_kwargs=True)
    arguments, keywords = loaded.arguments(inputs)
    torch.manual_seed(seed)
    with loaded.task.stage("forward", "forward failed"), torch.no_grad(), torch.compiler.set_stance("force_eager"):
        with numerics.pinned(mode, loaded.device):
            result = model(*arguments, **keywords)
    return model, [leaf for leaf in structure.leaves(result) if isinstance(leaf, torch.Tensor)]


def advance(loaded, inputs):
    """State that forward changes, as a call leaves it: a cache that holds something, a counter beyond its first step."""
    arguments, keywords = loaded.arguments(inputs)
    with loaded.task.stage("forward", "forward failed"), torch.no_grad(), torch.compiler.set_stance("force_eager"):
        loaded.model(*arguments, **keywords)


VARIANTS = ("task", "reparameterised", "faint", "pointed", "bounded", "tails", "mixed")


class WeightRequests(Requests):
    def __init__(self, model, inputs):
        self.model, self.inputs = model, inputs
        self.forget()

    def forget(self):
        self.original, self.scaled = None, {}

    @request
    def weights(
        self,
        variant: VARIANTS = "task",
        seed: int = 0,
        out: str = None,
        changes: list = None,
        mode: numerics.CLASSES = "default",
        calls: int = 0,
        turns: str = None,
    ):
        lock, loaded = GpuLock(turns), self.model.need()
        state = loaded.state()
        if self.original is None:
            self.original = {name: tensor.detach().to("cpu", copy=True) for name, tensor in state.items()}
        else:
            with torch.no_grad():
                for name, tensor in state.items():
                    tensor.copy_(self.original[name])
        if variant == "mixed":
            mix(state, seed)
        elif variant != "task":
            with lock.shared():
                faint = variant == "faint"
                key = (faint, seed, mode)  # once: on a GPU, another pass may round otherwise
                if key not in self.scaled:
                    self.scaled[key] = find_room(loaded, self.original, self.inputs.drawn("task", seed), mode, seed, faint)
                draw_scaled(loaded, self.original, self.scaled[key], seed, faint)
                point(state, changes or [])
                for call in range(calls):
                    advance(loaded, self.inputs.drawn("task", seed + 1 + call))
                self.model.give_back()
        if out:
            safetensors.write_mapped(out, loaded.state())  # forward may have put others in their place
        return {"waited": lock.waited}
