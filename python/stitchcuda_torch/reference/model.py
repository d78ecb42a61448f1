"""The task that is loaded: its model on a device, the names of its state, and the form of its inputs."""

import dataclasses
import gc

import torch
from torch.utils import _pytree as pytree

from ..base import dtypes
from ..base.errors import TaskError
from ..base.requests import Requests, request
from ..device.gpu_lock import HELD, GpuLock
from ..export import trace
from ..task.task import Task, write_arguments
from . import numerics


@dataclasses.dataclass
class TensorForm:
    dtype: torch.dtype
    shape: tuple
    stride: tuple


class Loaded:
    """The model of a file, made by the same rule as the exporter's: same seed, same names."""

    def __init__(self, file, class_name, seed, device, mode, lock=HELD):
        self.device = torch.device(device)
        self.task = Task(file, class_name, seed, mode)
        with torch.no_grad():  # so that every tensor is a leaf, and copies can be made of all of them
            model = self.task.construct()
        trace.promote_tensor_attributes(model)
        with lock.shared():
            with self.task.stage("constructor", f"the model cannot be moved to {device}"):
                self.model = model.to(self.device)
            self.drawn_on = self.find_where_to_draw()
        leaves, self.structure = pytree.tree_flatten(trace.fake_inputs(self.task))
        self.leaves = [form(leaf) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]

    def find_where_to_draw(self):
        """get_inputs() may mix tensors that name no device with ones that lie in host memory: then there."""
        if self.device.type == "cpu":
            return self.device
        try:
            self.task.make_inputs(0, self.device)
        except TaskError as error:
            if error.kind != "memory":  # others fill the GPU; it would work
                return torch.device("cpu")
        return self.device

    @property
    def forms(self):
        """Of the tensors among forward's arguments, flat, in the exporter's order."""
        return [leaf for leaf in self.leaves if isinstance(leaf, TensorForm)]

    def draw(self, seed):
        """The task's own inputs under a seed: only the tensors, flat, all where the model is."""
        leaves = pytree.tree_leaves(self.task.make_inputs(seed, self.drawn_on))
        tensors = [leaf.detach().to(self.device) for leaf in leaves if isinstance(leaf, torch.Tensor)]
        return self.check(tensors, "get_inputs() gave other shapes or dtypes than before")

    def check(self, tensors, what):
        seen, wanted = [(t.dtype, tuple(t.shape)) for t in tensors], [(f.dtype, f.shape) for f in self.forms]
        if seen != wanted:
            raise TaskError("inputs", f"{what}: {describe(seen)} instead of {describe(wanted)}")
        return tensors

    def arguments(self, tensors, device=None, wide=False):
        """(positional, keyword) for forward: copies on the device, laid out in memory as the task lays them out.

        wide: floating point as float64, which needs no narrow copy on the way.
        """
        copies = iter([lay_out(tensor, form, device or self.device, wide) for tensor, form in zip(tensors, self.forms)])
        leaves = [next(copies) if isinstance(leaf, TensorForm) else leaf for leaf in self.leaves]
        return pytree.tree_unflatten(leaves, self.structure)

    def state(self):
        """{name: tensor} of parameters and buffers, tied ones under each of their names, as the exporter names them."""
        return {**dict(self.model.named_parameters(remove_duplicate=False)), **dict(self.model.named_buffers(remove_duplicate=False))}


def form(tensor):
    return TensorForm(tensor.dtype, tuple(int(n) for n in tensor.shape), tuple(int(n) for n in tensor.stride()))


def lay_out(tensor, form, device, wide=False):
    """Strides are part of what a baseline is given; an expanded input gets memory of its own."""
    dtype = torch.float64 if wide and form.dtype.is_floating_point else form.dtype
    expanded = any(stride == 0 and size > 1 for stride, size in zip(form.stride, form.shape))
    if expanded:
        return tensor.to(device, dtype, copy=True).contiguous()
    return torch.empty_strided(form.shape, form.stride, dtype=dtype, device=device).copy_(tensor)


def describe(forms):
    return ", ".join(f"{dtypes.name(dtype)}{list(shape)}" for dtype, shape in forms) or "nothing"


DEVICES = ("cpu", "cuda")
MODEL_MODES = ("train", "eval")
MUCH = 1 << 29  # bytes


class ModelRequests(Requests):
    """All other subjects ask here for what is loaded. `on_load`: functions that forget what was known of the task before."""

    def __init__(self, progress):
        self.progress, self.loaded, self.on_load = progress, None, []

    @request
    def load(self, task: str, class_: str = None, seed: int = 42, device: DEVICES = "cpu", mode: MODEL_MODES = None, turns: str = None):
        if device == "cuda" and not torch.cuda.is_available():
            raise TaskError("device", "PyTorch sees no GPU here", "", "Use the device cpu.")
        for forget in self.on_load:
            forget()
        self.loaded = None
        gc.collect()
        self.progress("constructing the model")
        lock = GpuLock(turns)
        loaded = Loaded(task, class_, seed, device, mode, lock)
        numerics.set_flags("default", loaded.device)
        self.loaded = loaded
        with lock.shared():
            self.collect()  # it drew inputs to see where that works
        gpu = torch.cuda.get_device_name() if device == "cuda" else None
        return {
            "torch": torch.__version__,
            "gpu": gpu,
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(),
            "class": loaded.task.model_class.__name__,
            "mode": "train" if loaded.model.training else "eval",
            "waited": lock.waited,
        }

    @request
    def init_inputs(self, out: str):
        return write_arguments(self.need().task, out)

    def need(self):
        if self.loaded is None:
            raise TaskError("request", "no task is loaded", "", 'Ask for {"do": "load", "task": …} first.')
        return self.loaded

    def collect(self):
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def give_back(self):
        """Frees what PyTorch's allocator caches, if it is much: other processes use this GPU."""
        if torch.cuda.is_initialized() and torch.cuda.memory_reserved() - torch.cuda.memory_allocated() > MUCH:
            torch.cuda.empty_cache()

    def lost_device(self):
        """A GPU fault ends this process's use of the GPU: then only a new process helps."""
        if self.loaded is None or self.loaded.device.type != "cuda":
            return None
        try:
            torch.cuda.synchronize()
            return None
        except Exception as error:
            return TaskError("device", f"the GPU is lost to this process: {error}", "", "Start a new reference process.")
