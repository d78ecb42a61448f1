"""stitchcuda.optimize: a module in, a faster module out."""

import collections.abc
import inspect
import os
import sys
import warnings

import torch
from torch.utils import _pytree as pytree

from stitchcuda_torch.base.errors import TaskError
from stitchcuda_torch.task import sizes as sizes_of
from stitchcuda_torch.task import structure

from . import cache, check, exporting, fingerprint, live_task, pytorch_best, search
from .errors import StitchError
from .module import Fast
from .progress import progress as progress_for

NUMERICS = ("strict", "default", "tf32", "half")
BASELINES = {"strict": "PyTorch without TF32", "tf32": "PyTorch with TF32", "half": "PyTorch under autocast"}
CHOICES = {"other_shapes": ("pytorch", "error", "program"), "no_gpu": ("emulate", "pytorch", "error"), "numerics": NUMERICS}


def optimize(
    model,
    args=(),
    kwargs=None,
    *,
    device=None,
    numerics="default",
    budget=40,
    quick=False,
    dynamic_shapes=None,
    other_shapes="pytorch",
    no_gpu="emulate",
    gpu=None,
    progress=True,
    cached=True,
    name=None,
    options=(),
):
    """Turns a module into a verified CUDA program and returns it as a module.

    model          as it is: in its mode, with its weights; it stays the user's and is not changed
    args, kwargs   one call, whose shapes the program is made for
    device         "cuda" or "emulated"; None: where the model is
    numerics       the error allowed: strict, default (as PyTorch's defaults), tf32, half
    budget         seconds of planning, building and judging; the first program is always finished
    quick          fewer checks of the final program
    dynamic_shapes sizes that change from call to call, as torch.export has them: {"x": {0: Dim("batch", min=1, max=64)}};
                   one program takes them all
    other_shapes   calls with other shapes: run in "pytorch", are an "error", or get a "program" each
    no_gpu         on a machine without one: "emulate" it, run in "pytorch", or "error"
    gpu            the GPU to write it for, where it is emulated ("H100"; default: H200)
    cached         take a program that was made for the same graph before
    options        more words for `stitchcuda optimize`
    """
    check_choices(other_shapes=other_shapes, no_gpu=no_gpu, numerics=numerics)
    choices = {
        "device": device,
        "numerics": numerics,
        "budget": budget,
        "quick": quick,
        "other_shapes": other_shapes,
        "no_gpu": no_gpu,
        "gpu": gpu,
        "progress": progress,
        "cached": cached,
        "options": tuple(options),
    }
    args, kwargs = as_call(model, args, kwargs)
    device = choose_device(model, (args, kwargs), device, no_gpu)
    if device == "pytorch":
        warnings.warn("there is no GPU: the model runs in PyTorch (no_gpu='pytorch')", stacklevel=2)
        return Fast(None, None, model, choices=choices)
    show = progress_for(progress)
    sizes = described_sizes(model, dynamic_shapes, args, kwargs)
    made_with = {"sizes": sizes, "numerics": numerics, "device": device, "gpu": gpu or gpu_name(device), "options": list(options)}
    mark = fingerprint.of(model, args, kwargs, cache.made_by(), name, made_with) if cached else None
    if known := cache.recall(mark, sys.modules.get(type(model).__module__)):
        if folder := cache.find(known.key, budget, quick):
            try:
                fast = module_of(known, folder, model, args, kwargs, {**choices, "other_shapes": "error"}, show)
                fast.choices.update(choices)
                return fast
            except StitchError:  # its fingerprint missed something
                cache.forget(mark)
    show.show("exporting the model")
    exported = exporting.export(model, args, kwargs, name)
    key = cache.key(exported, **made_with)
    folder = cache.find(key, budget, quick) if cached else None
    if folder is None:
        with cache.Place(key) as place:
            task = live_task.write(exported, model, args, kwargs, os.path.join(place.draft), sizes)
            made = search.search(
                task,
                os.path.join(place.draft, "program"),
                device=device,
                gpu=gpu,
                numerics=numerics,
                budget=budget,
                quick=quick,
                options=options,
                show=show.show,
            )
            folder = place.keep(made)
    fast = module_of(exported, folder, model, args, kwargs, choices, show)
    cache.remember(mark, exported, key)
    return fast


def module_of(exported, folder, model, args, kwargs, choices, show):
    warn_of_mode(exported)
    if best := pytorch_best.faster(folder.record):
        baseline, times = best
        show.finish(f"no program beats PyTorch here ({baseline} is {times:.2f}x as fast): the module runs PyTorch's own best")
        warnings.warn(
            f"{exported.name} runs in PyTorch ({baseline}): it is {times:.2f}x as fast as the best program, which is in {folder.path}", stacklevel=3
        )
        return Fast(None, None, model, choices=choices, pytorch=pytorch_best.runner(model, baseline))
    folder.record["mode_matters"] = exported.dropouts + exported.batch_statistics > 0 or depends_on_mode(model)
    constants = {name: tensor.detach().clone() for name, tensor in exported.constants().items()}
    fast = Fast(folder, exported.call, model, constants, forward_signature(model), choices, optimize=optimize)
    show.show("checking it against the model")
    distance = None if exported.draws else check.check(fast, model, args, kwargs, choices["numerics"])
    show.finish(summary(fast, distance))
    return fast


def described_sizes(model, dynamic_shapes, args, kwargs):
    if not dynamic_shapes:
        return []
    signature = inspect.signature(model.forward)
    names = list(signature.bind(*args, **kwargs).arguments)
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in signature.parameters.values()):
        names = [*(f"argument {i}" for i in range(len(args))), *kwargs]
    try:
        return sizes_of.of_arguments(dynamic_shapes, names, args, kwargs)
    except TaskError as error:
        raise StitchError(error.message.replace("get_dynamic_shapes()", "dynamic_shapes"), error.fix) from error


def check_choices(**given):
    for name, value in given.items():
        if value not in CHOICES[name]:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, CHOICES[name]))}, not {value!r}")


def as_call(model, args, kwargs):
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"optimize takes a torch.nn.Module, not {type(model).__name__}")
    if isinstance(model, torch.jit.ScriptModule):
        raise TypeError("optimize takes a module in Python, not TorchScript")
    if isinstance(model, Fast):
        raise TypeError("this module is a program already")
    dynamo = sys.modules.get("torch._dynamo.eval_frame")  # importing it takes a second
    if dynamo and isinstance(model, dynamo.OptimizedModule):
        model = model._orig_mod
    if isinstance(args, torch.Tensor):
        args = (args,)
    if isinstance(args, collections.abc.Mapping) and kwargs is None:  # a tokenizer's BatchEncoding, too
        args, kwargs = (), args
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"args must be a tuple of forward's arguments, not {type(args).__name__}")
    args, kwargs = tuple(args), dict(kwargs or {})
    check_leaves(model, args, kwargs)
    try:
        inspect.signature(model.forward).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{type(model).__name__}.forward: {error}") from None
    return args, kwargs


def check_leaves(model, args, kwargs):
    """Refuses arguments that no program can take, in terms of the user's call."""
    named = [(f"argument {i}", value) for i, value in enumerate(args)] + [(f"argument '{name}'", value) for name, value in kwargs.items()]
    for where, argument in named:
        if structure.is_object(argument):
            raise StitchError(
                f"{where} is a {type(argument).__name__}, which changes from call to call, and a program has fixed shapes",
                "leave it out, or wrap the model in a module that takes the tensors of a cache of fixed size",
            )
        for leaf in pytree.tree_leaves(argument):
            if type(leaf).__module__ == "numpy" and hasattr(leaf, "__array__"):
                raise TypeError(f"{where} is a NumPy array: give tensors (torch.from_numpy)")
            if isinstance(leaf, torch.Tensor) and (leaf.layout is not torch.strided or leaf.is_quantized):
                raise StitchError(
                    f"{where} is a tensor of layout {str(leaf.layout).removeprefix('torch.')}; programs take dense ones",
                    "x.to_dense() or x.dequantize(), or plain tensors of indices and values",
                )
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if torch.nn.parameter.is_lazy(tensor):
            raise StitchError(f"'{name}' has no shape yet: the model has lazy modules", "call the model once with the example before")
    for name, module in model.named_modules():
        if type(module).__module__.startswith(("torch.ao.nn.quantized", "torch.nn.quantized", "torch.ao.nn.intrinsic.quantized")):
            raise StitchError(
                f"'{name or type(module).__name__}' is quantized, with weights in a form of PyTorch's own",
                "optimize the model in FP32, fp16 or bf16 before it is quantized",
            )


def forward_signature(model):
    try:
        return inspect.signature(model.forward)
    except (TypeError, ValueError):
        return None


def choose_device(model, call, wanted, no_gpu):
    """ "cuda", "emulated" or "pytorch"."""
    places = {}
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        places.setdefault(tensor.device, name)
    for leaf in pytree.tree_leaves(call):
        if isinstance(leaf, torch.Tensor):
            places.setdefault(leaf.device, "an input")
    if len(places) > 1:
        found = ", ".join(f"{name} on {device}" for device, name in places.items())
        raise StitchError(f"the model and its inputs are on several devices: {found}", "move all of it to one GPU: model.to('cuda:0')")
    place = next(iter(places), torch.device("cpu"))
    if place.type == "meta":
        raise StitchError("the model is on meta and has no weights", "make them: model.to_empty(device='cuda'), then load them")
    if place.type not in ("cpu", "cuda"):
        raise StitchError(f"the model is on {place}; programs run on NVIDIA GPUs", "move it to a GPU: model.cuda(), and its inputs")
    if wanted not in (None, "cuda", "emulated"):
        raise ValueError(f"device must be 'cuda' or 'emulated', not {wanted!r}")
    if place.type == "cuda":
        if wanted == "emulated":
            raise StitchError("the emulated GPU works on tensors in host memory, and the model is on the GPU", "model.cpu(), and its inputs")
        return "cuda"
    if torch.cuda.is_available() and wanted != "emulated":
        raise StitchError("the model is on the CPU, and this machine has a GPU", "call model.cuda() and give inputs on the GPU, or device='emulated'")
    if wanted == "cuda":
        raise StitchError(
            "there is no GPU on this machine",
            "leave device='cuda' out: the program then runs on an emulated GPU, slowly, or, with no_gpu='pytorch', the model runs in PyTorch",
        )
    if no_gpu == "error" and wanted is None:
        raise StitchError(
            "there is no GPU on this machine", "no_gpu='emulate' runs the program on an emulated one, slowly; no_gpu='pytorch' runs the model"
        )
    return "pytorch" if no_gpu == "pytorch" and wanted is None else "emulated"


def gpu_name(device):
    return torch.cuda.get_device_name() if device == "cuda" else None


def warn_of_mode(exported):
    found = []
    if exported.dropouts:
        found.append("1 dropout is random" if exported.dropouts == 1 else f"{exported.dropouts} dropouts are random")
    if exported.batch_statistics:
        found.append(
            "1 batch norm uses the batch's statistics"
            if exported.batch_statistics == 1
            else f"{exported.batch_statistics} batch norms use the batch's statistics"
        )
    if found:
        warnings.warn(f"{exported.name} is in training mode: {', '.join(found)}. For inference call model.eval() first.", stacklevel=4)


def depends_on_mode(model):
    kinds = (torch.nn.modules.dropout._DropoutNd, torch.nn.modules.batchnorm._BatchNorm)
    return any(isinstance(module, kinds) for module in model.modules())


def article(gpu):
    return f"{'an' if str(gpu)[:1] in 'AHL' else 'a'} {gpu}"


def summary(fast, distance):
    record = fast.folder.record
    regions = len(record.get("regions", []))
    lines = [f"{fast.folder.name}: {fast.verdict}, {regions} region{'' if regions == 1 else 's'}"]
    timing = fast.verdict.timing or {}
    of_class = BASELINES.get(fast.verdict.document.get("class"), "PyTorch")
    if timing.get("speedup"):
        lines[0] += f", {timing['speedup']:.2f}x the speed of the best {of_class} ({timing.get('best_baseline')})"
    elif record.get("seconds_a_call"):
        lines[0] += f", about {record['seconds_a_call'] * 1e6:.0f} us a call on {article(record.get('gpu'))} (an estimate: this machine has no GPU)"
    if distance is not None:
        lines.append(f"result against the model's: {distance:.1e} (relative L2)")
    if record.get("cut_off"):
        lines.append(
            f"the budget of {record['cut_off']['budget_seconds']} s left steps untried; budget={int(record['cut_off']['try_budget'])} would try them"
        )
    return "\n".join([*lines, f"report: {fast.folder.file('report.html')}"])
