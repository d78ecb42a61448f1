"""@name@ as a drop-in PyTorch module, in KernelBench's form: ModelNew computes with the CUDA program in this folder.

The model's own source below is only asked to construct its parameters and buffers, so that the same seed gives
the same weights; its forward is never called.
"""
import ctypes
import glob
import json
import operator
import os
import shutil
import subprocess

import torch
from torch import nn

_NAME = @name_literal@
_FOLDER = @folder@  # where this package was written
_LIBRARIES = @libraries@
_MODEL_CLASS = @model_class@
_SIGNATURE = json.loads(@signature@)
_TASK = @task@

_DTYPES = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
    "i32": torch.int32, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool,
}  # in the order of StitchDtype
_CODES = {name: code for code, name in enumerate(_DTYPES)}

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
    raise RuntimeError(f"the program's folder was not found; set STITCHCUDA_PROGRAM to it (it was written to {_FOLDER})")


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


def _library(folder, device):
    """The compiled program; compiled first if it is not there or older than its sources."""
    sources = sorted(glob.glob(os.path.join(folder, "*.cu")) + glob.glob(os.path.join(folder, "regions", "*.cu")))
    headers = glob.glob(os.path.join(folder, "*.h")) + glob.glob(os.path.join(folder, "include", "**", "*.h"), recursive=True)
    library = os.path.join(folder, "build", "libprogram.so")
    newest = max(os.path.getmtime(path) for path in sources + headers)
    if not os.path.exists(library) or os.path.getmtime(library) < newest:
        nvcc = _find_nvcc()
        major, minor = torch.cuda.get_device_capability(device)
        architecture = f"{major}{minor}{'a' if major >= 9 else ''}"
        os.makedirs(os.path.dirname(library), exist_ok=True)
        draft = f"{library}.{os.getpid()}"
        command = [nvcc, "-std=c++17", "-O3", "-shared", "-Xcompiler", "-fPIC,-fvisibility=hidden",
                   f"-gencode=arch=compute_{architecture},code=sm_{architecture}", "-I" + os.path.join(folder, "include"),
                   *sources, *("-l" + name for name in _LIBRARIES), "-o", draft]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"nvcc could not compile {folder}:\n{done.stderr}")
        os.replace(draft, library)  # another process may be doing the same
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
    names = {"F64": "f64", "F32": "f32", "F16": "f16", "BF16": "bf16", "I64": "i64", "I32": "i32", "I8": "i8", "U8": "u8",
             "BOOL": "bool"}
    out = {}
    for key, entry in header.items():
        if key == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        dtype = _DTYPES[names[entry["dtype"]]]
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
        self._inputs = [entry for entry in _SIGNATURE["inputs"] if entry["role"] == "input"]
        self._parameter_array = _descriptors(_SIGNATURE["parameters"])
        self._input_array = _descriptors(_SIGNATURE["inputs"])
        self._output_array = _descriptors(_SIGNATURE["outputs"])
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
        return {**dict(self.named_parameters(remove_duplicate=False)), **dict(self.named_buffers(remove_duplicate=False))}

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

    def _weights_key(self):
        return tuple(map(torch.Tensor.data_ptr, self._weights)), tuple(map(operator.attrgetter("_version"), self._weights))

    def _create(self, device):
        self._forget()
        if device.type != "cuda":
            raise RuntimeError(f"{_NAME} runs on a GPU; its inputs are on {device}")
        if self._library is None:
            self._library = _library(_program_folder(), device)
        by_path = self._by_path()
        self._weights = [by_path[entry["data"]] for entry in _SIGNATURE["parameters"]]
        self._states = {entry["data"]: by_path[entry["data"]] for part in ("inputs", "outputs")
                        for entry in _SIGNATURE[part] if entry.get("data")}
        packed = [weight.detach().contiguous() for weight in self._weights]
        for entry, tensor, weight in zip(_SIGNATURE["parameters"], self._parameter_array, packed):
            self._compare(entry, weight, device)
            tensor.data = weight.data_ptr()
        for key, state in self._states.items():
            if state.device != device or not state.is_contiguous():
                raise RuntimeError(f"{_NAME}: the buffer '{key}' must be contiguous and on {device}")
        program = ctypes.c_void_p()
        self._check(self._library.stitch_create(self._parameter_array, len(packed), device.index or 0,
                                                ctypes.byref(program)))
        self._program, self._device, self._key = program, device, self._weights_key()

    def _compare(self, entry, tensor, device):
        if (tensor.dtype is not _DTYPES[entry["dtype"]] or list(tensor.shape) != entry["shape"]
                or tensor.device != device):
            raise RuntimeError(f"{_NAME}: '{entry['name']}' must be {entry['dtype']}{entry['shape']} on {device}, "
                               f"not {tensor.dtype} {list(tensor.shape)} on {tensor.device}")

    def forward(self, *arguments, **named_arguments):
        given = [*_tensors_in(arguments), *_tensors_in(named_arguments)]
        if len(given) != len(self._inputs):
            raise RuntimeError(f"{_NAME}: {len(self._inputs)} input tensors expected, {len(given)} given")
        device = given[0].device if given else next(iter(self._by_path().values())).device
        if self._program is None or device != self._device or self._weights_key() != self._key:
            self._create(device)

        taken = {}  # by name: keeps copies alive until the work is enqueued
        for entry, tensor in zip(self._inputs, given):
            self._compare(entry, tensor, device)
            strides = tuple(entry["strides"]) if entry.get("strides") else None
            if strides and tensor.stride() != strides:
                tensor = torch.empty_strided(entry["shape"], strides, dtype=tensor.dtype, device=device).copy_(tensor.detach())
            taken[entry["name"]] = tensor if strides else tensor.contiguous()
        for slot, entry in zip(self._input_array, _SIGNATURE["inputs"]):
            if entry["role"] == "state":
                slot.data = self._states[entry["data"]].data_ptr()
            elif entry["role"] == "seed":
                taken["seed"] = torch.randint(0, 2**63 - 1, (), dtype=torch.int64, device=device)
                slot.data = taken["seed"].data_ptr()
            else:
                slot.data = taken[entry["name"]].data_ptr()

        outputs, overwritten = [], []
        for slot, entry in zip(self._output_array, _SIGNATURE["outputs"]):
            if entry["role"] == "update" and entry.get("data"):
                slot.data = self._states[entry["data"]].data_ptr()  # in place: the ABI allows it
                continue
            made = torch.empty(entry["shape"], dtype=_DTYPES[entry["dtype"]], device=device)
            slot.data = made.data_ptr()
            (outputs if entry["role"] == "output" else overwritten).append((entry, made))

        self._check(self._library.stitch_run(
            self._program, self._input_array, len(_SIGNATURE["inputs"]), self._output_array,
            len(_SIGNATURE["outputs"]), torch.cuda.current_stream(device).cuda_stream))
        names = [entry["name"] for entry in self._inputs]
        for entry, made in overwritten:  # the model writes to its own input
            given[names.index(entry["target"])].detach().copy_(made)
        results = tuple(made for _, made in outputs)
        return results[0] if len(results) == 1 else results
