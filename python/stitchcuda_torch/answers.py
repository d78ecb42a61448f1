"""The requests of the reference server, one method each; TABLE says what each may be asked."""

import gc
import time

import torch

from . import distributions, dtypes, numerics, safetensors
from .constructor import write_arguments
from .errors import TaskError
from .evaluate import MODES, evaluate, named
from .loaded import Loaded
from .reparameterise import reparameterise
from .requests import NEEDED

HALVES = tuple(numerics.HALF)


class Answers:
    TABLE = {
        "load": {"task": (str, NEEDED), "class": (str, None), "seed": (int, 42), "device": (("cpu", "cuda"), "cpu"), "eval": (bool, False)},
        "init_inputs": {"out": (str, NEEDED)},
        "weights": {"variant": (("task", "reparameterised"), "task"), "seed": (int, 0), "gain": (float, 6 ** 0.5), "out": (str, None)},
        "distributions": {},
        "draw": {"distribution": (distributions.NAMES, "task"), "seed": (int, NEEDED), "out": (str, NEEDED)},
        "evaluate": {"inputs": (str, NEEDED), "mode": (MODES, NEEDED), "out": (str, NEEDED), "half": (HALVES, "fp16"),
                     "device": (("cpu", "cuda"), None), "seed": (int, 42), "updates": (list, None)},
    }

    def __init__(self, progress):
        self.progress = progress
        self.loaded = self.original = self.facts = None

    def load(self, task, seed, device, eval, **rest):
        start = time.monotonic()
        if device == "cuda" and not torch.cuda.is_available():
            raise TaskError("device", "PyTorch sees no GPU here", "", "Use the device cpu.")
        self.loaded = self.original = self.facts = None
        gc.collect()
        self.progress("constructing the model")
        loaded = Loaded(task, rest["class"], seed, device, eval)
        numerics.set_flags("default", loaded.device)
        self.loaded = loaded
        gpu = torch.cuda.get_device_name() if device == "cuda" else None
        return {"torch": torch.__version__, "gpu": gpu, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
                "class": loaded.task.model_class.__name__, "mode": "train" if loaded.model.training else "eval",
                "parameters": loaded.describe_state(), "inputs": [form.as_json() for form in loaded.forms],
                "seconds": seconds_since(start)}

    def init_inputs(self, out):
        return write_arguments(self.need().task, out)

    def weights(self, variant, seed, gain, out):
        start = time.monotonic()
        loaded = self.need()
        if self.original is None:
            self.original = {name: tensor.detach().to("cpu", copy=True) for name, tensor, _ in loaded.state()}
        with torch.no_grad():
            for name, tensor, _ in loaded.state():
                tensor.copy_(self.original[name])
        if variant == "reparameterised":
            reparameterise(loaded.model, seed, gain)
        size = safetensors.write_mapped(out, {name: tensor for name, tensor, _ in loaded.state()}) if out else 0
        return {"bytes": size, "seconds": seconds_since(start)}

    def distributions(self):
        return {"distributions": list(distributions.NAMES)}

    def draw(self, distribution, seed, out):
        start = time.monotonic()
        loaded = self.need()
        tensors = loaded.draw(seed)
        if self.facts is None:
            self.facts = [distributions.study(tensor) for tensor in tensors]
        tensors, domain_kept = distributions.draw(distribution, tensors, self.facts, seed)
        size = safetensors.write_mapped(out, {f"input_{i}": tensor for i, tensor in enumerate(tensors)})
        return {"domain_kept": domain_kept, "inputs": [fact.as_json() for fact in self.facts], "bytes": size,
                "seconds": seconds_since(start)}

    def evaluate(self, inputs, mode, out, half, device, seed, updates):
        start = time.monotonic()
        loaded = self.need()
        device = torch.device(device) if device else loaded.device
        if device != loaded.device and (mode != "float64" or device.type != "cpu"):
            raise TaskError("request", f"{mode} runs on {loaded.device.type}, where the task was loaded")
        tensors = loaded.check(self.read_inputs(inputs), "the inputs have other shapes or dtypes than the task's")
        seen, facts = evaluate(loaded, tensors, mode, half, device, seed)
        state = {name: tensor for name, tensor, _ in loaded.state()}
        for name in updates or []:
            if name not in state:
                raise TaskError("request", f"the model has no state named {name!r}")
        tensors = named(seen, updates, state)
        safetensors.write_mapped(out, tensors)
        described = [{"name": name, "dtype": dtypes.name(tensor.dtype), "shape": list(tensor.shape)}
                     for name, tensor in tensors.items()]
        return {**facts, "tensors": described, "seconds": seconds_since(start)}

    def read_inputs(self, path):
        stored = safetensors.read(path)
        missing = [i for i in range(len(self.loaded.forms)) if f"input_{i}" not in stored]
        if missing:
            raise TaskError("inputs", f"{path} lacks input_{missing[0]}")
        return [stored[f"input_{i}"] for i in range(len(self.loaded.forms))]

    def need(self):
        if self.loaded is None:
            raise TaskError("request", "no task is loaded", "", 'Ask for {"do": "load", "task": …} first.')
        return self.loaded

    def lost_device(self):
        """A GPU fault ends this process's use of the GPU: then only a new process helps."""
        if self.loaded is None or self.loaded.device.type != "cuda":
            return None
        try:
            torch.cuda.synchronize()
            return None
        except Exception as error:
            return TaskError("device", f"the GPU is lost to this process: {error}", "", "Start a new reference process.")


def seconds_since(start):
    return round(time.monotonic() - start, 4)
