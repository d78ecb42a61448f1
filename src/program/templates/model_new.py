"""@name@ as a drop-in PyTorch module, in KernelBench's form: ModelNew computes with the CUDA program in this folder.

The model's own source below is only asked to construct its parameters and buffers, so that the same seed gives
the same weights; its forward is never called.
"""
import concurrent.futures
import ctypes
import glob
import json
import operator
import os
import shutil
import subprocess
import tempfile

import torch
from torch import nn

_NAME = @name_literal@
_FOLDER = @folder@  # where this package was written
_LIBRARIES = @libraries@
_NEEDS = @needs@  # the least compute capability, "80"; "90a": that one alone
_MODEL_CLASS = @model_class@
_SIGNATURE = json.loads(@signature@)
_TASK = @task@

_DTYPES = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
    "i32": torch.int32, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool,
}  # in the order of StitchDtype
_CODES = {name: code for code, name in enumerate(_DTYPES)}

# torch.cuda.current_stream(…).cuda_stream costs 5 us; what Triton and Inductor use instead costs 0.2.
_current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None) or (
    lambda index: torch.cuda.current_stream(index).cuda_stream)

# At import, not in the constructor: what the file's top level draws must not shift the constructor's numbers.
_task_namespace = {"__name__": "stitchcuda_task"}
exec(compile(_TASK, "task.py", "exec"), _task_namespace)


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
    """This file may be run from its text alone, so it may not know where it lies."""
    beside = os.path.dirname(os.path.abspath(globals().get("__file__") or ""))
    for folder in (beside, os.environ.get("STITCHCUDA_PROGRAM"), _FOLDER):
        if folder and os.path.exists(os.path.join(folder, "program.cu")) and _is_ours(folder):
            return folder
    raise RuntimeError(f"the program's folder is not {_FOLDER} any more; set STITCHCUDA_PROGRAM to where it is")


def _is_ours(folder):
    manifest = os.path.join(folder, "manifest.json")
    return os.path.exists(manifest) and json.load(open(manifest, encoding="utf-8"))["name"] == _NAME


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


def _in_place(entry, by_path):
    state = by_path[entry["data"]]
    if not state.is_contiguous():
        raise RuntimeError(f"{_NAME}: the buffer '{entry['data']}' must be contiguous")
    return state.data_ptr()


class ModelNew(nn.Module):
    def __init__(self, *arguments, **named_arguments):
        super().__init__()
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
        return dict([*self.named_parameters(remove_duplicate=False), *self.named_buffers(remove_duplicate=False)])

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
        if device.type != "cuda":
            raise RuntimeError(f"{_NAME} runs on a GPU; its inputs are on {device}")
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
        self._check(self._library.stitch_create(parameters, len(packed), device.index, ctypes.byref(program)))
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

    def forward(self, *arguments, **named_arguments):
        given = arguments
        if named_arguments or not all(isinstance(argument, torch.Tensor) for argument in arguments):
            given = [*_tensors_in(arguments), *_tensors_in(named_arguments)]
        device = given[0].device if given else next(iter(self._by_path().values())).device
        if self._program is None or device != self._device or self._key_of_weights() != self._key:
            self._create(device)
        if len(given) != len(self._taken):
            raise RuntimeError(f"{_NAME}: {len(self._taken)} input tensors expected, {len(given)} given")

        alive = []  # copies, until the work is enqueued
        for (slot, shape, dtype, strides, entry), tensor in zip(self._taken, given):
            if tensor.shape != shape or tensor.dtype is not dtype or tensor.device != device:
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

        self._check(self._library.stitch_run(self._program, *self._arrays, _current_stream(device.index)))

        results = []
        for (_, _, _, target), tensor in zip(self._made, made):
            if target is None:
                results.append(tensor)
            else:  # the model writes to its own input
                names = [entry["name"] for *_, entry in self._taken]
                given[names.index(target)].detach().copy_(tensor)
        return results[0] if len(results) == 1 else tuple(results)
