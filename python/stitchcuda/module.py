"""The module that users call: the model's parameters and buffers, the program's speed."""

import copy
import html
import os
import threading
import warnings

import torch
from torch import nn

from . import exporting, saving, tool, trees, verdict
from .binding import DTYPES, Binding, WeightsDiffer, describe, strides_of
from .errors import StitchError

VARIANTS = 16  # programs for other shapes, before PyTorch takes the rest
READY = 64  # calls at other sizes of one program


class Fast(nn.Module):
    """A model as a CUDA program. Parameters, buffers and their names are the model's own: both modules share them, so
    weights may be loaded, written to and moved through either. Forward only: it has no gradients."""

    def __init__(self, folder, call, original=None, weights=None, signature=None, choices=None, pytorch=None, optimize=None):
        """original: the model; where there is none (a saved program), `weights` by name instead. Without a folder PyTorch runs:
        `pytorch`, or the model as it is. optimize: makes the programs for other shapes."""
        super().__init__()
        plain = self.__dict__  # what nn.Module shall not look at
        plain["folder"], plain["choices"] = folder, choices or {}
        plain["_original"], plain["_constants"], plain["_pytorch"] = original, {}, pytorch or original
        if original is not None:
            plain["_parameters"], plain["_buffers"], plain["_modules"] = original._parameters, original._buffers, original._modules
            plain["_non_persistent_buffers_set"] = original._non_persistent_buffers_set
            plain["training"] = original.training
        plain["_constants"].update(weights or {})
        plain["_tree"], plain["_signature"], plain["_optimize"] = call, signature, optimize
        self._prepare()

    def _prepare(self):
        plain = self.__dict__
        plain["_lock"], plain["_said"], plain["_variants"], plain["_made_on"] = threading.RLock(), set(), {}, None
        self._forget()
        plain["_forks"] = tool.extension().forks()
        plain["_ties"] = exporting.ties_of(self)
        plain["_binding"] = Binding(self.folder, self._tree, self._find_weight, self._places) if self.folder else None
        plain["_arguments"] = trees.Arguments(self._signature, self._tree) if self._tree else None

    # Calls.

    def forward(self, *arguments, **keywords):
        call = self._call
        if call is not None:
            result = call(*arguments, **keywords)
            if result is not NotImplemented:
                if torch.is_autocast_enabled(self._made_on.type):  # asked while the GPU works
                    self.say_once("autocast", f"autocast does not change {self.folder.name}: it computes and returns the dtypes it was made with")
                return result
        return self._long_way(arguments, keywords)

    def _long_way(self, arguments, keywords):
        """Whatever is not the example's call on the example's shapes with the weights of last time."""
        if self.folder is None:
            return self._pytorch(*arguments, **keywords)
        try:
            tensors = self._arguments.find(arguments, keywords)
            if any(is_traced(tensor) for tensor in tensors):
                return self._in_pytorch("it is being traced", arguments, keywords)
            device = self._device(tensors)
            sizes = self._binding.ranges.shown(tensors)
            given = [self._binding.ranges.entry(entry, sizes) for entry in self._binding.given]
            ready = [self._input(entry, tensor, device) for entry, tensor in zip(given, tensors)]
        except trees.OtherCall as other:
            return self._otherwise(str(other), arguments, keywords)
        for entry, tensor in zip(self._binding.given, tensors):
            if tensor.requires_grad and torch.is_grad_enabled():
                raise StitchError(
                    f"the input '{entry['name']}' requires a gradient, and {self.folder.name} is a program for inference",
                    "call it under torch.no_grad() or torch.inference_mode(), or train with the model itself (fast.original)",
                )
        try:
            call = self._current(device, sizes)
        except WeightsDiffer as differ:
            return self._otherwise(differ.message, arguments, keywords)
        result = call.flat(tuple(ready))
        if result is NotImplemented:  # another thread changed the weights meanwhile
            result = self._current(device, sizes).flat(tuple(ready))
        if result is NotImplemented:
            raise StitchError(f"{self.folder.name} cannot be called with {[describe(t.dtype, t.shape) for t in tensors]}")
        if self._binding.written:
            result = self._write_inputs(result, tensors)
        return result

    def _write_inputs(self, made, tensors):
        """The model writes to its own inputs: so does its program."""
        names, results = [entry["name"] for entry in self._binding.given], []
        with torch.no_grad():
            for entry, tensor in zip(self._binding.made(), made):
                if entry["name"] in self._binding.written:
                    tensors[names.index(self._binding.written[entry["name"]])].copy_(tensor)
                else:
                    results.append(tensor)
        return trees.build(self._tree["outputs"], results)

    def _device(self, tensors):
        """That of the program for these tensors."""
        found = tensors[0].device if tensors else next((t.device for t in self.state_dict().values()), torch.device("cpu"))
        kind = self.folder.record.get("device")
        if (found.type == "cuda") != (kind == "cuda") and not (
            found.type == "cpu" and self.choices.get("no_gpu") == "emulate" and not torch.cuda.is_available()
        ):
            where = "the GPU" if kind == "cuda" else "the CPU, for the emulated GPU"
            raise trees.OtherCall(f"the inputs are on {found}, and the program was made for {where}")
        return torch.device("cuda", torch.cuda.current_device()) if found.type == "cuda" and found.index is None else found

    def _input(self, entry, tensor, device):
        """The tensor as the program wants it, copied where it lies in another order."""
        if tensor.dtype is not DTYPES[entry["dtype"]] or list(tensor.shape) != entry["shape"]:
            raise trees.OtherCall(
                f"'{entry['name']}' is {describe(tensor.dtype, tensor.shape)}, and the program was made for "
                f"{describe(DTYPES[entry['dtype']], entry['shape'])}{self._hint(entry, tensor)}"
            )
        if tensor.device != device:
            raise trees.OtherCall(f"'{entry['name']}' is on {tensor.device}, and other inputs are on {device}")
        tensor = tensor.detach()
        if type(tensor) is not torch.Tensor:
            tensor = tensor.as_subclass(torch.Tensor)
        strides = strides_of(entry)
        if tensor.is_neg() or any(a != b and n > 1 for a, b, n in zip(tensor.stride(), strides, tensor.shape)):
            tensor = torch.empty_strided(tuple(entry["shape"]), strides, dtype=tensor.dtype, device=device).copy_(tensor)
        return tensor

    def _hint(self, entry, tensor):
        """What to write if such sizes come again."""
        other = [dim for dim, (a, b) in enumerate(zip(tensor.shape, entry["shape"])) if a != b]
        if tensor.dim() != len(entry["shape"]) or not other or 0 in tensor.shape:
            return ""
        spec = {dim: ("size" + str(dim), 1, 2 * max(tensor.shape[dim], entry["shape"][dim])) for dim in other}
        return f"; for one program of all sizes: dynamic_shapes={ {entry['name']: spec} }"

    def _current(self, device, sizes):
        """The Call at these sizes, for the weights as they are now."""
        with self._lock:
            if tool.extension().forks() != self._forks:
                raise StitchError(
                    f"{self.folder.name} was loaded before this process was forked, and neither a GPU nor threads survive a fork",
                    "start processes by 'spawn' (torch.multiprocessing.get_context('spawn')), or load the program in each",
                )
            call = self._ready.pop(sizes, None)
            one = call or next(iter(self._ready.values()), None)  # all have the same weights
            if device != self._made_on or (one is not None and not one.is_current()):
                call = one = None
                self._forget()  # its memory goes before there is more
            if self._packed is None:
                self._packed, self._made_on = self._binding.pack(device), device
            if call is None:
                call = self._binding.make(device, self._packed, sizes)
            self._ready[sizes] = call  # the latest is the last
            if len(self._ready) > READY:
                del self._ready[next(iter(self._ready))]
            self._call = None if self._binding.written else call
            return call

    def _forget(self):
        self.__dict__.update(_call=None, _ready={}, _packed=None)

    def _find_weight(self, name, device=None):
        """device: where a constant of the graph, which no module moves, is wanted."""
        found = exporting.find_weight(self._original if self._original is not None else self, name)
        if found is None and name in self._constants:
            found = self._constants[name]
            if device is not None and found.device != device:
                found = self._constants[name] = found.to(device)
        return found

    def _places(self, tensors):
        for first, *others in self._ties:
            for name in others:
                if self._find_weight(name) is not self._find_weight(first):
                    raise WeightsDiffer(f"'{name}' and '{first}' were one tensor when the program was made, and are two now")
        return exporting.places_of(self._original if self._original is not None else self, tensors)

    # What the program was not made for.

    def _otherwise(self, why, arguments, keywords):
        choice = self.choices.get("other_shapes", "pytorch")
        if choice == "error" or self._original is None:
            fix = "optimize with other_shapes='pytorch' or 'program', or call it as in the example"
            if choice != "error":
                fix = "give the model to load(folder, model=model), and PyTorch runs what the program does not"
            raise StitchError(f"{self.folder.name}: {why}", fix)
        if choice == "program" and len(self._variants) < VARIANTS:
            return self._variant(arguments, keywords)(*arguments, **keywords)
        return self._in_pytorch(why, arguments, keywords)

    def _in_pytorch(self, why, arguments, keywords):
        if self._original is None:
            raise StitchError(f"{self.folder.name}: {why}, and there is no model to run in PyTorch", "give it to load(folder, model=model)")
        self.say_once("pytorch", f"{self.folder.name} runs in PyTorch: {why}")
        return self._original(*arguments, **keywords)

    def _variant(self, arguments, keywords):
        """A program of its own for these shapes."""
        form = form_of((arguments, keywords))
        with self._lock:
            if form not in self._variants:
                options = {**self.choices, "other_shapes": "pytorch"}
                self._variants[form] = self._optimize(self._original, arguments, keywords, **options)
            return self._variants[form]

    def say_once(self, about, text):
        if about not in self._said:
            self._said.add(about)
            warnings.warn(text, stacklevel=8)  # points at the module's caller

    # Properties and reports.

    @property
    def original(self):
        """The model itself; None where a program was loaded without it."""
        return self._original

    @property
    def verdict(self):
        """None if it wasn't verified."""
        document = self.folder.record.get("verdict") if self.folder else None
        return verdict.from_document(document) if document else None

    @property
    def plan(self):
        """The program's regions in order, with technique and estimates; and the steps that led to it."""
        return (
            {"regions": self.folder.record.get("regions", []), "steps": self.folder.record.get("ledger", {}).get("steps", [])}
            if self.folder
            else None
        )

    def report(self, open=False):
        """The path of the report (HTML); `open` shows it in a browser."""
        if self.folder is None:
            return None
        path = self.folder.file("report.html")
        if not os.path.exists(path):
            raise StitchError(f"the program's folder {self.folder.path} has no report.html any more")
        if open:
            import webbrowser

            webbrowser.open("file://" + path)
        return Report(path)

    def save(self, path, overwrite=False):
        """Writes a folder: the program with its sources and library, the weights, the report. `load` reads it."""
        saving.save(self, path, overwrite)

    # nn.Module's own methods.

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            original = self.__dict__.get("_original")
            if original is None or name.startswith("__"):
                raise
            found = getattr(original, name)  # a configuration, a dtype, …
            if name in RUNS_THE_MODEL and callable(found):
                self.say_once(name, f"{name} is the model's own and runs in PyTorch: the program is of forward alone")
            return found

    def train(self, mode=True):
        if self.folder is not None and mode != self.training and self.folder.record.get("mode_matters"):
            made = "train" if self.training else "eval"
            warnings.warn(f"{self.folder.name} was made of the model in {made} mode and computes that in either mode", stacklevel=2)
            return self
        if self._original is not None:
            self._original.train(mode)
        self.__dict__["training"] = mode
        return self

    def _apply(self, function, recurse=True):
        result = super()._apply(function, recurse)
        self._forget()  # packed for where the weights were
        return result

    def __deepcopy__(self, memo):
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        nn.Module.__init__(made)
        kept = {key: value for key, value in self.__dict__.items() if key not in NOT_COPIED}
        made.__dict__.update({key: value if key in ("folder", "_tree", "_signature") else copy.deepcopy(value, memo) for key, value in kept.items()})
        made._prepare()
        return made

    def __getstate__(self):
        return {key: value for key, value in self.__dict__.items() if key not in NOT_COPIED}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._prepare()

    def __repr__(self):
        if self.folder is None:
            return f"Fast(in PyTorch)\n{self._original!r}"
        regions = len(self.folder.record.get("regions", []))
        return f"Fast({self.folder.name}: {regions} regions, numerics class {self.folder.manifest['class']}, {self.folder.record['device']})"


RUNS_THE_MODEL = ("generate", "predict", "encode", "decode", "sample", "inference", "infer", "transcribe", "forward_features")
NOT_COPIED = ("_lock", "_call", "_ready", "_packed", "_said", "_variants", "_binding", "_arguments", "_forks", "_made_on", "_ties")


class Report(str):
    """A path that a notebook shows as a link."""

    def _repr_html_(self):
        return f'<a href="file://{html.escape(self, quote=True)}" target="_blank">{html.escape(self)}</a>'


def is_traced(tensor):
    from torch._subclasses.fake_tensor import FakeTensor

    return isinstance(tensor, FakeTensor) or torch._C._functorch.is_functorch_wrapped_tensor(tensor)


def form_of(call):
    from torch.utils import _pytree as pytree

    leaves, structure = pytree.tree_flatten(call)
    return str(structure), tuple((leaf.dtype, tuple(leaf.shape), leaf.device) if isinstance(leaf, torch.Tensor) else repr(leaf) for leaf in leaves)
