"""A program in a folder of its own: the package, the weights, and how it is called."""

import json
import os
import shutil
import tempfile

import torch
from stitchcuda_torch import safetensors

from . import trees
from .errors import StitchError
from .folder import RECORD, Folder
from .module import Fast

CALL, WEIGHTS, VERSION = "call.json", "weights.safetensors", 1


def save(fast, path, overwrite=False):
    if fast.folder is None:
        raise StitchError("this module has no program: it runs in PyTorch", "save the model itself")
    path = os.path.abspath(path)
    if os.path.exists(path) and not (overwrite and (is_ours(path) or not os.listdir(path))):
        raise StitchError(f"{path} exists already" + ("" if not overwrite else ", and is no program of stitchcuda's"),
                          "choose another folder" if overwrite else "choose another folder, or save(path, overwrite=True)")
    tensors, layout = collect(fast)
    document = {"stitchcuda": VERSION, "training": fast.training, "call": {"positional": trees.to_json(fast._tree["positional"]),
                "keyword": [[name, trees.to_json(tree)] for name, tree in fast._tree["keyword"]], "outputs": trees.to_json(fast._tree["outputs"])},
                "names": trees_names(fast), "tensors": layout, "complex": [key for key, tensor in tensors.items() if tensor.is_complex()]}
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


def signature_from(names):
    import inspect
    if names is None:
        return None
    empty = inspect.Parameter.empty
    return inspect.Signature([inspect.Parameter(name, inspect._ParameterKind(kind), default=value if default else empty)
                              for name, kind, default, value in names])


def load(path, model=None, *, other_shapes=None, no_gpu="emulate"):
    """What save() wrote, on the CPU for an emulated program and on the current GPU for another. With the model it was
    made of, its weights are the model's, and PyTorch runs what the program can't."""
    folder = Folder(path)
    with open(folder.file(CALL)) if os.path.exists(folder.file(CALL)) else missing(folder) as file:
        document = json.load(file)
    if document.get("stitchcuda") != VERSION:
        raise StitchError(f"{path} was saved by another version of stitchcuda", "save it again")
    call = {"positional": [trees.from_json(tree) for tree in document["call"]["positional"]],
            "keyword": [[name, trees.from_json(tree)] for name, tree in document["call"]["keyword"]],
            "outputs": trees.from_json(document["call"]["outputs"])}
    cuda = folder.record.get("device") == "cuda"
    if cuda and not torch.cuda.is_available() and no_gpu == "error":
        raise StitchError("there is no GPU on this machine", "no_gpu='emulate', or 'pytorch' with the model")
    if cuda and not torch.cuda.is_available() and no_gpu == "pytorch":
        if model is None:
            raise StitchError("there is no GPU on this machine, and no model to run in PyTorch", "load(path, model=model)")
        return Fast(None, None, model, choices={"no_gpu": no_gpu})
    choices = {"other_shapes": other_shapes or ("pytorch" if model is not None else "error"), "no_gpu": no_gpu,
               "numerics": folder.record.get("numerics", "default")}
    fast = Fast(folder, call, model, {}, signature_from(document["names"]), choices)
    fast.__dict__["training"] = document["training"] if model is None else model.training
    tensors = safetensors.read(folder.file(WEIGHTS))
    tensors |= {key: torch.view_as_complex(tensors[key]) for key in document.get("complex", [])}
    device = torch.device("cuda", torch.cuda.current_device()) if cuda and torch.cuda.is_available() else torch.device("cpu")
    put(fast, tensors, document["tensors"], device, with_weights=model is None)
    return fast


def missing(folder):
    raise StitchError(f"{folder.path} is a program, but not one that save() wrote: it has no weights")


def put(fast, tensors, layout, device, with_weights):
    made = {}
    for name, kind, key, flag in layout:
        if kind == "constant" or not with_weights:
            if kind == "constant":
                fast._constants[name] = tensors[key].to(device)
            continue
        module, leaf = place(fast, name)
        if kind == "parameter":
            if key not in made:
                made[key] = torch.nn.Parameter(tensors[key].to(device), requires_grad=flag)
            module.register_parameter(leaf, made[key])
        else:
            module.register_buffer(leaf, made.setdefault(key, tensors[key].to(device)), persistent=flag)


def place(root, path):
    *parents, leaf = path.split(".")
    for part in parents:
        if part not in root._modules:
            root.add_module(part, torch.nn.Module())
        root = root._modules[part]
    return root, leaf
