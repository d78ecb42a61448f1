"""A program written to a folder of its own: the package, the weights, and how it is called."""

import json
import os
import shutil
import tempfile

import torch

from stitchcuda_torch.base import safetensors

from . import trees
from .errors import StitchError
from .folder import RECORD

CALL, WEIGHTS, CONSTANTS, VERSION = "call.json", "weights.safetensors", "constants.safetensors", 1


def save(fast, path, overwrite=False):
    if fast.folder is None:
        raise StitchError("this module has no program: it runs in PyTorch", "save the model itself")
    path = os.path.abspath(path)
    if os.path.exists(path) and not (overwrite and (is_ours(path) or not os.listdir(path))):
        raise StitchError(
            f"{path} exists already" + ("" if not overwrite else ", and is no program of stitchcuda's"),
            "choose another folder" if overwrite else "choose another folder, or save(path, overwrite=True)",
        )
    tensors, layout = collect(fast)
    document = {
        "stitchcuda": VERSION,
        "training": fast.training,
        "call": trees.call_to_json(fast._tree),
        "names": trees_names(fast),
        "tensors": layout,
        "complex": [key for key, tensor in tensors.items() if tensor.is_complex()],
    }
    os.makedirs(os.path.dirname(path), exist_ok=True)
    draft = tempfile.mkdtemp(prefix=os.path.basename(path) + ".", dir=os.path.dirname(path))
    try:
        shutil.copytree(fast.folder.path, draft, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".lock", "model_new.py", WEIGHTS, CALL))
        safetensors.write(os.path.join(draft, WEIGHTS), {key: as_pairs(tensor) for key, tensor in tensors.items()})
        with open(os.path.join(draft, CALL), "w") as file:
            json.dump(document, file, indent=1)
        with open(os.path.join(draft, RECORD), "w") as file:
            json.dump(fast.folder.record, file, indent=1)
        os.chmod(draft, 0o755)
        if os.path.exists(path):
            shutil.rmtree(path)
        os.rename(draft, path)
    except BaseException as error:
        shutil.rmtree(draft, ignore_errors=True)
        if isinstance(error, OSError):
            raise StitchError(f"{path} cannot be written: {error.strerror}") from error
        raise


def as_pairs(tensor):
    """The file knows no complex numbers: their parts stand side by side."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def is_ours(path):
    return os.path.exists(os.path.join(path, CALL)) and os.path.exists(os.path.join(path, RECORD))


def collect(fast):
    """{key: tensor}, each memory once, and where each name goes: [name, kind, key, persistent or requires_grad]."""
    tensors, layout, keys = {}, [], {}
    kept = fast.state_dict().keys()

    def add(name, kind, tensor, flag):
        place = (tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype) if tensor.numel() else name
        key = keys.setdefault(place, name)
        tensors.setdefault(key, tensor.detach())
        layout.append([name, kind, key, flag])

    for name, tensor in fast.named_parameters(remove_duplicate=False):
        add(name, "parameter", tensor, tensor.requires_grad)
    for name, tensor in fast.named_buffers(remove_duplicate=False):
        add(name, "buffer", tensor, name in kept)
    placed = {entry[0] for entry in layout}
    for part in ("parameters", "inputs", "outputs"):
        for entry in fast.folder.manifest[part]:
            if entry.get("data") and entry["data"] not in placed:
                placed.add(entry["data"])
                add(entry["data"], "constant", fast._find_weight(entry["data"]), False)
    return tensors, layout


def trees_names(fast):
    """forward's parameters, so that a loaded program can be called by name."""
    if fast._signature is None:
        return None
    names = []
    for parameter in fast._signature.parameters.values():
        default = None if parameter.default is parameter.empty else "default"
        plain = parameter.default is None or isinstance(parameter.default, (bool, int, float, str))
        names.append([parameter.name, int(parameter.kind), default, parameter.default if default and plain else None])
    return names
