"""@name@ as a drop-in PyTorch module, in KernelBench's form: ModelNew computes with the CUDA program in this folder.

The model's own source below is only asked to construct its parameters and buffers, so that the same seed gives
the same weights; its forward is never called.
"""
import concurrent.futures
import contextlib
import ctypes
import glob
import importlib
import inspect
import json
import operator
import os
import shutil
import subprocess
import sys
import tempfile
import types
import warnings

import torch
from torch import nn

_NAME = @name_literal@
_LIBRARIES = @libraries@
_NEEDS = @needs@  # the least compute capability, "80"; "90a": that one alone
_MODEL_CLASS = @model_class@
_SIGNATURE = json.loads(@signature@)
# The arguments of forward and what it returns, with numbers in the place of tensors. null: not recorded.
_CALL = json.loads(@call@)
_MODULES = @modules@  # files in modules/ that the model's source imports
_MODE = @mode@  # of the model when the program was made; empty where that changes nothing
_TASK = @task@

_DTYPES = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
    "i32": torch.int32, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool,
}  # in the order of StitchDtype
_CODES = {name: code for code, name in enumerate(_DTYPES)}

# torch.cuda.current_stream(…).cuda_stream costs 5 us; what Triton and Inductor use instead costs 0.2.
_current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None) or (
    lambda index: torch.cuda.current_stream(index).cuda_stream)

class _StitchTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.c_int64 * 8), ("strides", ctypes.c_int64 * 8)]


def _contiguous_strides(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def _descriptors(entries):
    """Everything but the pointers, which alone change from call to call."""
    array = (_StitchTensor * max(len(entries), 1))()
    for tensor, entry in zip(array, entries):
        shape = entry["shape"]
        tensor.dtype, tensor.rank = _CODES[entry["dtype"]], len(shape)
        tensor.shape[:len(shape)] = shape
        tensor.strides[:len(shape)] = entry.get("strides") or _contiguous_strides(shape)
    return array


def _program_folder():
    """Beside this file. Run from its text alone, as KernelBench does, it does not know where it lies."""
    beside = os.path.dirname(os.path.abspath(globals().get("__file__") or ""))
    for folder in (beside, os.environ.get("STITCHCUDA_PROGRAM")):
        if folder and os.path.exists(os.path.join(folder, "program.cu")) and _is_ours(folder):
            return folder
    raise RuntimeError(f"{_NAME}: the program's sources are not beside model_new.py ({beside}); "
                       "set STITCHCUDA_PROGRAM to their folder")


def _is_ours(folder):
    manifest = os.path.join(folder, "manifest.json")
    if not os.path.exists(manifest):
        return False
    with open(manifest, encoding="utf-8") as text:
        return json.load(text)["name"] == _NAME


def _find_nvcc():
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    found = [os.path.join(home, "bin", "nvcc") for home in homes if home]
    nvcc = next(filter(os.path.exists, found), None) or shutil.which("nvcc")
    if nvcc is None:
        raise RuntimeError("the program has to be compiled once, and there is no nvcc on the PATH or in $CUDA_HOME")
    return nvcc


def _run(command, folder):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"nvcc could not compile {folder}:\n{done.stderr}")


def _compile(folder, device, library):
    """Regions a dozen at a time, since most of what one costs alone is its headers; as many nvcc as cores."""
    major, minor = torch.cuda.get_device_capability(device)
    architecture = f"{major}{minor}{'a' if (major, minor) == (9, 0) else ''}"
    fits = architecture == _NEEDS if _NEEDS.endswith("a") else 10 * major + minor >= int(_NEEDS or 0)
    if not fits:
        raise RuntimeError(f"{_NAME} needs sm_{_NEEDS}, and this GPU is sm_{architecture}")
    nvcc = [_find_nvcc(), "-std=c++17", "-O3", "-Xcompiler", "-fPIC,-fvisibility=hidden",
            f"-gencode=arch=compute_{architecture},code=sm_{architecture}"]
    regions = sorted(glob.glob(os.path.join(folder, "regions", "*.cu")))
    batch = min(12, -(-len(regions) // (os.cpu_count() or 1))) or 1
    with tempfile.TemporaryDirectory() as scratch:
        units = sorted(glob.glob(os.path.join(folder, "*.cu")))
        for first in range(0, len(regions), batch):
            units.append(os.path.join(scratch, f"regions_{first}.cu"))
            with open(units[-1], "w") as unit:
                unit.writelines(f'#include "{os.path.abspath(region)}"\n' for region in regions[first:first + batch])
        objects = [os.path.join(scratch, f"{number}.o") for number in range(len(units))]
        commands = [[*nvcc, "-I" + os.path.join(folder, "include"), "-c", unit, "-o", made]
                    for unit, made in zip(units, objects)]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda command: _run(command, folder), commands))
        os.makedirs(os.path.dirname(library), exist_ok=True)
        draft = f"{library}.{os.getpid()}"
        _run([*nvcc, "-shared", *objects, *("-l" + name for name in _LIBRARIES), "-o", draft], folder)
        os.replace(draft, library)  # another process may be doing the same


def _library(folder, device):
    """The compiled program; compiled first if it is not there or older than its sources."""
    files = [path for kind in ("*.cu", "*.h") for path in glob.glob(os.path.join(folder, "**", kind), recursive=True)]
    library = os.path.join(folder, "build", "libprogram.so")
    if not os.path.exists(library) or os.path.getmtime(library) < max(map(os.path.getmtime, files)):
        _compile(folder, device, library)
    loaded = ctypes.CDLL(library)
    pointer, number = ctypes.c_void_p, ctypes.c_int
    tensors = ctypes.POINTER(_StitchTensor)
    loaded.stitch_create.argtypes = [tensors, number, number, ctypes.POINTER(pointer)]
    loaded.stitch_run.argtypes = [pointer, tensors, number, tensors, number, pointer]
    loaded.stitch_destroy.argtypes, loaded.stitch_destroy.restype = [pointer], None
    loaded.stitch_last_error.restype = ctypes.c_char_p
    return loaded


def _constants(folder):
    """Tensors that no constructor makes: constants.safetensors, which is a length, a JSON header and raw data."""
    path = os.path.join(folder, "constants.safetensors")
    if not os.path.exists(path):
        return {}
    raw = bytearray(open(path, "rb").read())
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + length])
    out = {}
    for key, entry in header.items():
        if key == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        dtype = _DTYPES[entry["dtype"].lower()]
        flat = torch.frombuffer(raw, dtype=torch.uint8)[8 + length + begin:8 + length + end].clone()
        out[key] = flat.view(dtype).reshape(entry["shape"])
    return out


def _place(root, path):
    """The module that holds `path`'s last part, made of empty modules where it is not there yet."""
    *parents, leaf = path.split(".")
    for part in parents:
        if part not in root._modules:
            root.add_module(part, nn.Module())
        root = root._modules[part]
    return root, leaf


@contextlib.contextmanager
def _local_modules():
    """The model's own files come before other modules of their names, which are as they were afterwards."""
    if not _MODULES:
        yield
        return
    names = {path[:-len(".py")].replace("/", ".").removesuffix(".__init__") for path in _MODULES}
    names |= {name[:i] for name in names for i, c in enumerate(name) if c == "."}
    others = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    folder = os.path.join(_program_folder(), "modules")
    sys.path.insert(0, folder)
    sys.modules.update(_loaded_modules)
    try:
        yield
    finally:
        sys.path.remove(folder)
        _loaded_modules.update({name: sys.modules[name] for name in names if name in sys.modules})
        sys.modules.update(others)


# At import, not in the constructor: what the file's top level draws must not shift the constructor's numbers.
_loaded_modules = {}
_task = types.ModuleType("stitchcuda_task")
sys.modules[_task.__name__] = _task  # where dataclasses look up the names in their annotations
_task_namespace = vars(_task)
with _local_modules():
    exec(compile(_TASK, "task.py", "exec"), _task_namespace)


def _constant(encoded):
    if isinstance(encoded, dict) and "float" in encoded:
        return float(encoded["float"])
    return _DTYPES.get(encoded["dtype"]) if isinstance(encoded, dict) else encoded


def _same(a, b):
    return a is b or a == b or (a != a and b != b)


class _Arguments:
    """Finds the program's input tensors in a call of forward, by the names and defaults that the model's forward has."""

    def __init__(self):
        signature = inspect.signature(_task_namespace[_MODEL_CLASS].forward)
        self.signature = signature.replace(parameters=list(signature.parameters.values())[1:])
        positional, keyword = _CALL["positional"], dict(_CALL["keyword"])
        self.expected = self.signature.bind(*positional, **keyword).arguments  # trees, by parameter
        for name, tree in self.expected.items():
            kind = self.signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                self.expected[name] = {"tuple": list(tree)}
            elif kind is inspect.Parameter.VAR_KEYWORD:
                self.expected[name] = {"dict": list(tree.items())}
        self.count = sum(entry["role"] == "input" for entry in _SIGNATURE["inputs"])
        # Tensors alone, in order, as KernelBench gives them: nothing has to be looked up.
        self.plain = not keyword and positional == [{"input": i} for i in range(self.count)]

    def find(self, arguments, named_arguments):
        if self.plain and len(arguments) == self.count and not named_arguments:
            if all(isinstance(argument, torch.Tensor) for argument in arguments):
                return arguments
        try:
            bound = self.signature.bind(*arguments, **named_arguments)
        except TypeError as error:
            raise TypeError(f"{_NAME}: forward{self.signature} {error}") from None
        given = [None] * self.count
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if name in self.expected:
                self.match(self.expected[name], value, name, given)
            elif not self.is_default(name, value):
                raise TypeError(f"{_NAME}: the argument '{name}' was not given when this program was made, "
                                f"so it cannot be given now")
        return given

    def is_default(self, name, value):
        parameter = self.signature.parameters[name]
        if parameter.default is parameter.empty:  # *args or **kwargs
            return len(value) == 0
        return value is parameter.default or (not isinstance(value, torch.Tensor) and _same(value, parameter.default))

    def match(self, tree, value, path, given):
        kind, content = next(iter(tree.items()))
        if kind == "input":
            if not isinstance(value, torch.Tensor):
                raise TypeError(f"{_NAME}: the argument '{path}' must be a tensor, not {value!r}")
            given[content] = value
        elif kind == "constant":
            if isinstance(value, torch.Tensor) or not _same(value, _constant(content)):
                shown = "a tensor" if isinstance(value, torch.Tensor) else repr(value)
                raise TypeError(f"{_NAME}: the argument '{path}' is {_constant(content)!r} in this program, not {shown}")
        elif kind == "class":
            for name, part in tree["fields"]:
                self.match(part, getattr(value, name, None), f"{path}.{name}", given)
        elif kind == "dict":
            self.match_dict(dict(content), value, path, given)
        else:
            if not isinstance(value, (list, tuple)) or len(value) != len(content):
                raise TypeError(f"{_NAME}: the argument '{path}' must be a {kind} of {len(content)}")
            for i, part in enumerate(content):
                self.match(part, value[i], f"{path}[{i}]", given)

    def match_dict(self, trees, value, path, given):
        if not hasattr(value, "keys"):
            raise TypeError(f"{_NAME}: the argument '{path}' must be a dict, not a {type(value).__name__}")
        for key in value.keys():
            if key not in trees:
                raise TypeError(f"{_NAME}: the argument '{path}' has an unexpected entry {key!r}")
        for key, tree in trees.items():
            if key not in value.keys():
                raise TypeError(f"{_NAME}: the argument '{path}' has no entry {key!r}")
            self.match(tree, value[key], f"{path}[{key!r}]", given)


class _TensorsInOrder:
    """Where nobody wrote down how forward is called."""

    def find(self, arguments, named_arguments):
        return [*_tensors_in(arguments), *_tensors_in(named_arguments)]


def _class(place):
    """module:Class, of the model's own source where no module is named."""
    module, path = place.split(":")
    found = _loaded_modules.get(module) or importlib.import_module(module) if module else None
    for i, part in enumerate(path.split(".")):
        found = _task_namespace[part] if i == 0 and not module else getattr(found, part)
    return found


def _build(tree, results):
    """What forward returns, of its tensors."""
    kind, content = next(iter(tree.items()))
    if kind == "output":
        return results[content]
    if kind == "constant":
        return _constant(content)
    if kind == "class":
        return _class(content)(**{name: _build(part, results) for name, part in tree["fields"]})
    if kind == "dict":
        return {key: _build(part, results) for key, part in content}
    return (list if kind == "list" else tuple)(_build(part, results) for part in content)


def _tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors_in(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from _tensors_in(part)


def _compare(entry, tensor, device):
    if tensor.dtype is not _DTYPES[entry["dtype"]] or list(tensor.shape) != entry["shape"] or tensor.device != device:
        raise RuntimeError(f"{_NAME}: '{entry['name']}' must be {entry['dtype']}{entry['shape']} on {device}, "
                           f"not {tensor.dtype} {list(tensor.shape)} on {tensor.device}")


def _as_mask(entry, tensor):
    """KernelBench gives masks in FP32, and PyTorch takes zeros and ones either way."""
    if entry["dtype"] != "bool" or not tensor.dtype.is_floating_point or list(tensor.shape) != entry["shape"]:
        return tensor
    mask = tensor != 0
    if not torch.equal(mask.to(tensor.dtype), tensor):
        raise RuntimeError(f"{_NAME}: '{entry['name']}' is a mask, and holds other numbers than 0 and 1")
    return mask


_arguments = _Arguments() if _CALL else _TensorsInOrder()


def _require_gpu(device):
    if device.type != "cuda":
        raise RuntimeError(f"{_NAME} runs on a GPU; its inputs are on {device}")


def _in_place(entry, by_path):
    state = by_path[entry["data"]]
    if not state.is_contiguous():
        raise RuntimeError(f"{_NAME}: the buffer '{entry['data']}' must be contiguous")
    return state.data_ptr()


class ModelNew(nn.Module):
    def __init__(self, *arguments, **named_arguments):
        super().__init__()
        with _local_modules():
            original = _task_namespace[_MODEL_CLASS](*arguments, **named_arguments)
        kept = original.state_dict().keys()
        for path, parameter in original.named_parameters(remove_duplicate=False):
            module, leaf = _place(self, path)
            module.register_parameter(leaf, parameter)
        for path, buffer in original.named_buffers(remove_duplicate=False):
            module, leaf = _place(self, path)
            module.register_buffer(leaf, buffer, persistent=path in kept)
        self._adopt_plain_tensors(original)
        self._library, self._program, self._device = None, None, None
        self.register_load_state_dict_post_hook(lambda module, keys: module._forget())

    def _adopt_plain_tensors(self, original):
        """Tensors that the model keeps as plain attributes, or that only its graph knows, move with this module."""
        used = {entry["data"] for part in _SIGNATURE.values() for entry in part if entry.get("data")}
        missing = sorted(used - self._by_path().keys())
        constants = _constants(_program_folder()) if missing else {}
        for path in missing:
            value = original
            for part in path.split("."):
                value = getattr(value, part, None)
            if not isinstance(value, torch.Tensor):
                value = constants[path]
            module, leaf = _place(self, path)
            module.register_buffer(leaf, value.detach().clone(), persistent=False)

    def _by_path(self):
        state = [*self.named_parameters(remove_duplicate=False), *self.named_buffers(remove_duplicate=False)]
        return {path: torch.view_as_real(tensor) if tensor.is_complex() else tensor for path, tensor in state}

    def _forget(self):
        """The weights are others now: the next forward packs them again."""
        if self._program is not None:
            self._library.stitch_destroy(self._program)
            self._program = None

    def _apply(self, *arguments, **named_arguments):
        self._forget()
        return super()._apply(*arguments, **named_arguments)

    def __del__(self):
        if self.__dict__.get("_program") is not None:
            self._library.stitch_destroy(self._program)

    def _check(self, status):
        if status != 0:
            raise RuntimeError(f"{_NAME}: {self._library.stitch_last_error().decode()}")

    def _key_of_weights(self):
        """Changes when a weight's memory or content does; of a state only the memory matters."""
        versions = map(operator.attrgetter("_version"), self._weights)
        return [*map(torch.Tensor.data_ptr, self._weights), *versions, *map(torch.Tensor.data_ptr, self._states)]

    def _create(self, device):
        """Packs the weights, and prepares what every call needs: only pointers change from then on."""
        self._forget()
        _require_gpu(device)
        if self._library is None:
            self._library = _library(_program_folder(), device)
        by_path = self._by_path()
        entries = [entry for part in _SIGNATURE.values() for entry in part if entry.get("data")]
        for entry in entries:
            _compare(entry, by_path[entry["data"]], device)
        self._weights = [by_path[entry["data"]] for entry in _SIGNATURE["parameters"]]
        self._states = [by_path[entry["data"]] for entry in entries[len(self._weights):]]
        packed = [weight.detach().contiguous() for weight in self._weights]
        parameters = _descriptors(_SIGNATURE["parameters"])
        for slot, weight in zip(parameters, packed):
            slot.data = weight.data_ptr()
        program = ctypes.c_void_p()
        self._check(self._library.stitch_create(parameters, len(packed), device.index or 0, ctypes.byref(program)))
        self._key = self._key_of_weights()

        inputs, outputs = _descriptors(_SIGNATURE["inputs"]), _descriptors(_SIGNATURE["outputs"])
        self._arrays = inputs, len(_SIGNATURE["inputs"]), outputs, len(_SIGNATURE["outputs"])
        self._taken, self._made, self._seed = [], [], None
        for slot, entry in zip(inputs, _SIGNATURE["inputs"]):
            if entry["role"] == "state":
                slot.data = _in_place(entry, by_path)
            elif entry["role"] == "seed":
                self._seed = slot
            else:
                strides = tuple(entry["strides"]) if entry.get("strides") else None
                self._taken.append((slot, torch.Size(entry["shape"]), _DTYPES[entry["dtype"]], strides, entry))
        for slot, entry in zip(outputs, _SIGNATURE["outputs"]):
            if entry["role"] == "update" and entry.get("data"):
                slot.data = _in_place(entry, by_path)  # the old value's memory: the ABI allows it
            else:
                like = torch.empty(0, dtype=_DTYPES[entry["dtype"]], device=device)
                self._made.append((slot, torch.Size(entry["shape"]), like, entry.get("target")))
        self._program, self._device = program, device

    def _weights_changed(self):
        return self._key_of_weights() != self._key

    def forward(self, *arguments, **named_arguments):
        given = _arguments.find(arguments, named_arguments)
        device = given[0].device if given else next(iter(self._by_path().values())).device
        if self._program is None or device != self._device or (self._states and self._weights_changed()):
            self._create(device)
        if len(given) != len(self._taken):
            raise RuntimeError(f"{_NAME}: {len(self._taken)} input tensors expected, {len(given)} given")

        alive = []  # copies, until the work is enqueued
        for (slot, shape, dtype, strides, entry), tensor in zip(self._taken, given):
            if tensor.shape != shape or tensor.dtype is not dtype or tensor.device != device:
                tensor = _as_mask(entry, tensor)
                alive.append(tensor)
                _compare(entry, tensor, device)
            if not (tensor.stride() == strides if strides else tensor.is_contiguous()):
                strides = strides or _contiguous_strides(shape)
                tensor = torch.empty_strided(shape, strides, dtype=dtype, device=device).copy_(tensor.detach())
                alive.append(tensor)
            slot.data = tensor.data_ptr()
        if self._seed is not None:
            alive.append(torch.randint(0, 2**63 - 1, (), dtype=torch.int64, device=device))
            self._seed.data = alive[-1].data_ptr()
        made = []
        for slot, shape, like, _ in self._made:
            made.append(like.new_empty(shape))
            slot.data = made[-1].data_ptr()

        self._check(self._library.stitch_run(self._program, *self._arrays, _current_stream(device.index or 0)))
        # Looked at while the GPU works. Where there is no state, a run with old weights did no harm.
        if not self._states and self._weights_changed():
            self._create(device)
            return self.forward(*arguments, **named_arguments)

        results = []
        for (_, _, _, target), tensor in zip(self._made, made):
            if target is None:
                results.append(tensor)
            else:  # the model writes to its own input
                names = [entry["name"] for *_, entry in self._taken]
                given[names.index(target)].detach().copy_(tensor)
        if _CALL:
            return _build(_CALL["outputs"], results)
        return results[0] if len(results) == 1 else tuple(results)

    def train(self, mode=True):
        if _MODE and mode != (_MODE == "train"):
            warnings.warn(f"{_NAME} was made of the model in {_MODE} mode and computes that in either mode", stacklevel=2)
        return super().train(mode)
