"""Runs torch.export over a model without materialising its inputs, and explains why when it can't."""

import contextlib
import copy
import io
import logging
import os
import re
import types

import torch
import torch.export._trace
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensor, FakeTensorMode
from torch.nn.attention import bias
from torch.utils import _pytree as pytree

from ..base.errors import TaskError, environment_error, first_line
from ..task import structure, where
from . import below_autograd, carried, checks, known, rnn, unread
from .replaced import replaced, without_fast_path

DATA_DEPENDENT_FIX = (
    "A CUDA program's flow and sizes cannot depend on values. Write the choice as tensor operations: "
    "torch.where(condition, a, b) instead of if/else, masks (x * mask) instead of x[mask] or nonzero, "
    "0-d tensors instead of .item(). If only training does this, use eval mode: --eval, or model.eval() in Python."
)

# Models of libraries that read images of several sizes.
HELD_SIZES_FIX = " An input of sizes that stay the same (image_grid_thw) can be held by a module around the model, in a list: self.sizes = [sizes]."

LIBRARY_FIX = (
    " If the model runs: the library takes another path while it is exported. Pass what it makes up itself then "
    "(attention_mask, position_ids), or choose that path by its settings (attn_implementation)."
)

# What to write instead of operators whose result has a size that depends on values.
SIZED_BY_VALUES = {
    "bincount": "torch.bincount(x.clamp(0, n - 1), minlength=n), with n fixed",
    "nonzero": "a mask of fixed size, or torch.topk(mask.int(), k).indices with k fixed",
    "masked_select": "x * mask, or torch.where(mask, x, 0)",
    "linalg_lstsq": "torch.linalg.solve(a.mT @ a, a.mT @ b), where a has full rank",
    "one_hot": "torch.nn.functional.one_hot(x, num_classes=n), with n fixed",
    "unique": "torch.sort, and a mask where neighbours differ",
    "repeat_interleave": "x.repeat_interleave(n, dim) with n a number, or x[index] with an index of fixed size",
    "item": "the 0-d tensor itself",
}


def data_dependent_fix(operator=""):
    """The fix, with what to write instead of this operator where that is known."""
    name = next((name for name in SIZED_BY_VALUES if name in operator), None)
    return f"Instead of {name}: {SIZED_BY_VALUES[name]}. {DATA_DEPENDENT_FIX}" if name else DATA_DEPENDENT_FIX


def fake_inputs(task):
    """The task's inputs as fake tensors: KernelBench's reach gigabytes, and only their shapes matter here."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    try:
        with mode, quiet_stderr():
            inputs = task.make_inputs()
    except TaskError as error:
        if error.kind != "inputs":
            raise
        inputs = task.make_inputs()  # code that looks at values needs real tensors
    on_gpu = [leaf.device for leaf in pytree.tree_leaves(inputs) if isinstance(leaf, torch.Tensor) and leaf.device.type == "cuda"]
    if on_gpu and not torch.cuda.is_available():
        raise TaskError(
            "inputs",
            f"get_inputs() makes tensors on {on_gpu[0]}, and this machine has no GPU",
            where.of_function(task.module.get_inputs),
            "Leave the device out: tensors are moved to where they are needed.",
        )
    return as_fake(inputs, mode)


def as_fake(inputs, mode=None):
    mode = mode or FakeTensorMode(allow_non_fake_inputs=True)

    def convert(leaf):
        real = isinstance(leaf, torch.Tensor) and not isinstance(leaf, FakeTensor)
        return mode.from_tensor(leaf.detach(), static_shapes=True) if real else leaf

    return pytree.tree_map(convert, inputs)


def export(model, inputs, task_file, given="that get_inputs() returns", draw=None):
    """inputs: (positional, keyword), fake; given: where they come from, for messages; draw(i): real ones, others for another i. Returns an
    ExportedProgram of the training IR, nothing decomposed."""
    refused = None
    try:
        with carried.watched(model) as changed:
            program = export_settled(model, inputs, task_file, given)
    except TaskError as error:
        refused = whose_fault(error, model, draw)
    if not refused:
        carried.drop_unread(model, program)
    if changed and (not refused or refused.kind == "export"):
        carried.check_history(model, list(changed), draw, os.path.basename(task_file))
    if refused:
        raise refused
    return program


def export_settled(model, inputs, task_file, given):
    if type(model).forward is torch.nn.Module.forward:
        raise TaskError(
            "missing",
            f"class {type(model).__name__} has no forward",
            os.path.basename(task_file),
            "Define forward(self, …) in it: what the model computes.",
        )
    promote_tensor_attributes(model)
    program = refused = None
    try:
        program = export_once(model, inputs, task_file, given)
        if not checks.has_unknown_sizes(program):
            return program
    except TaskError as error:
        if error.kind != "data_dependent":
            raise
        refused = error
    with known.held_sizes(model) as (held, are_written):
        with contextlib.suppress(TaskError):
            other = export_once(model, inputs, task_file, given) if held else None
            if held and not are_written() and not checks.has_unknown_sizes(other):
                return other
    if refused:
        raise refused
    return program  # refused where it is written down, by the operator


def export_once(model, inputs, task_file, given):
    returned = model.register_forward_hook(lambda module, arguments, result: structure.register(result))
    try:
        # force_eager: what torch.compile wraps is exported as what it wraps.
        with (
            torch.no_grad(),
            without_fast_path(),
            rnn.opaque(),
            masks_unread(),
            unread.Unread() as values,
            quiet_stderr(),
            torch.compiler.set_stance("force_eager"),
            below_autograd.attention_written_out(),
            distributions_unchecked(),
            norms_that_count(),
            addresses_made_up(),
            replaced(bias, "CausalBias", unread.causal_mask),
            # PyTorch's own way for buffers of the outermost module alone; carried.py does it for all.
            replaced(torch.export._trace, "register_buffer_assignment_hook", lambda *_: types.SimpleNamespace(remove=lambda: None)),
            replaced(torch.random, "default_generator", Unseeded(torch.random.default_generator)),
        ):
            program = above_or_below(model, inputs)
            values.places.check()
        if values.selected.unused:
            raise TaskError("data_dependent", "the model's flow depends on whether a mask holds anywhere", "", DATA_DEPENDENT_FIX)
        checks.erase_checks(program)
        unread.bound_counts(program)
        return program
    except TaskError as error:
        error.where = error.where or where.of_exception(error, task_file)
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise explain(error, task_file, model, given) from error
    finally:
        returned.remove()


def above_or_below(model, inputs):
    try:
        program = torch.export.export(model, *inputs, strict=False)
        if not below_autograd.is_needed(program):
            return program
    except AssertionError:  # PyTorch's own, of tensors inside torch.func
        program = None
    try:
        return below_autograd.export(model, inputs)
    except Exception:
        if program is None:
            raise
        return program  # refused where it is written down, by the operator


class Unseeded:
    """PyTorch's generator, which a model may not seed: its numbers would be the same in every call, and a program's are others."""

    def __init__(self, generator):
        self.generator = generator

    def __getattr__(self, name):
        return getattr(self.generator, name)

    def manual_seed(self, seed):
        raise TaskError(
            "export",
            "forward seeds PyTorch's random numbers, which a program cannot do",
            "",
            "Draw the numbers once, in the constructor (register_buffer), or pass them as an input.",
        )

    seed = manual_seed


def masks_unread():
    """nn.TransformerEncoder and Decoder read the values of a mask to see whether it is the causal one, for speed alone: the mask
    itself says the same."""
    return replaced(torch.nn.modules.transformer, "_detect_is_causal_mask", lambda mask, is_causal=None, size=None: is_causal is True)


def distributions_unchecked():
    """torch.distributions reads its parameters to see whether they are valid: a program is called with those that PyTorch accepts."""
    return replaced(torch.distributions.Distribution, "_validate_args", False)


def norms_that_count():
    """A BatchNorm without a momentum reads how often it was called, to weigh this call by it: here that stays a tensor."""
    owner, own = torch.nn.modules.batchnorm._BatchNorm, torch.nn.modules.batchnorm._BatchNorm.forward

    def forward(norm, x):
        if norm.momentum is not None or not norm.training or not norm.track_running_stats:
            return own(norm, x)
        norm._check_input_dim(x)
        norm.num_batches_tracked.add_(1)
        var, mean = torch.var_mean(x, [dim for dim in range(x.dim()) if dim != 1])
        share = 1 / norm.num_batches_tracked.to(norm.running_mean.dtype)
        norm.running_mean.add_((mean - norm.running_mean) * share)
        norm.running_var.add_((var - norm.running_var) * share)
        return torch.nn.functional.batch_norm(x, None, None, norm.weight, norm.bias, True, 0.0, norm.eps)

    return replaced(owner, "forward", forward)


def addresses_made_up():
    """Experts in transformers read their weights' addresses, to see whether a kernel for bf16 may read them 16 bytes at a time:
    tensors that are only traced lie as fresh ones would, each storage somewhere else."""
    original, page = torch.Tensor.data_ptr, 4096

    def data_ptr(tensor):
        try:
            return original(tensor)
        except RuntimeError:
            return tensor.untyped_storage()._cdata * page + tensor.storage_offset() * tensor.element_size()

    return replaced(torch.Tensor, "data_ptr", data_ptr)


def promote_tensor_attributes(model):
    """Plain tensor attributes become buffers, so that export writes down what forward assigns to them."""
    for module in model.modules():
        for name, value in list(vars(module).items()):
            if type(value) is torch.Tensor and "." not in name:
                delattr(module, name)
                module.register_buffer(name, value, persistent=False)


def explain(error, task_file, model, given):
    line = where.of_exception(error, task_file)
    library = where.inside_library(error, task_file)
    library = f" (inside {library})" if library else ""
    known = environment_error(error, line)
    if known:
        return known
    if is_data_dependent(error):
        operator = str(getattr(error, "func", ""))
        return TaskError(
            "data_dependent",
            "the model's flow or shapes depend on the values of a tensor" + library,
            line,
            data_dependent_fix(operator) + (HELD_SIZES_FIX if library else ""),
        )
    stranger = re.match(r"Found <class '([^']*)'> in output|Unsupported input type <class '([^']*)'>", str(error))
    if stranger:
        what = f"forward returns a {stranger[1]}" if stranger[1] else f"an argument of forward is a {stranger[2]}"
        return TaskError("export", f"{what}, which is neither a tensor nor a container that PyTorch looks into", "", structure.UNSUPPORTED_FIX)
    lazy = [name for name, part in model.named_parameters() if torch.nn.parameter.is_lazy(part)]
    if lazy:
        return TaskError(
            "export",
            f"the parameter '{lazy[0]}' of a lazy module has no shape yet",
            "",
            "Call the model once at the end of its constructor, with an example input: self(torch.zeros(…)).",
        )
    scripted = [type(part).__name__ for part in model.modules() if isinstance(part, torch.jit.ScriptModule)]
    if scripted:
        return TaskError(
            "export",
            f"a part of the model is compiled by TorchScript ({scripted[0]}), which can't be looked into",
            line,
            "Use the module itself, without torch.jit.script or torch.jit.trace. Scripted functions are fine.",
        )
    module = type(error).__module__
    if line and not module.startswith(("torch.export", "torch._export", "torch._dynamo", "torch.fx", "torch._functorch")):
        return TaskError(
            "forward",
            f"forward fails with these inputs: {type(error).__name__}: {first_line(error)}{library}",
            line,
            f"Check the shapes and dtypes {given} against this line." + (LIBRARY_FIX if library else ""),
        )
    return TaskError("export", f"torch.export failed: {type(error).__name__}: {first_line(error)}{library}", line, UNTRACED_FIX)


UNTRACED_FIX = "Write this line with other operators; torch.compile(model, backend='stitchcuda') leaves such parts to PyTorch."
SMALL = 1 << 24  # elements of inputs and weights: others take too long on a CPU, only to explain an error


def whose_fault(error, model, draw):
    """What failed while the model was traced may run in PyTorch: then the fault is not the model's."""
    if error.kind != "forward" or draw is None or sum(tensor.numel() for tensor in carried.state(model).values()) > SMALL:
        return error
    try:
        inputs = draw(0)
        if sum(leaf.numel() for leaf in pytree.tree_leaves(inputs) if isinstance(leaf, torch.Tensor)) > SMALL:
            return error
        carried.call(copy.deepcopy(model), inputs)
    except Exception:
        return error
    what = error.message.partition(": ")[2]
    return TaskError("export", f"torch.export cannot trace a line that runs in PyTorch: {what}", error.where, UNTRACED_FIX)


def is_data_dependent(error):
    if isinstance(error, (DataDependentOutputException, DynamicOutputShapeException)):
        return True
    text = str(error)
    return (
        "data-dependent" in text
        or "data dependent" in text
        or type(error).__name__ == "GuardOnDataDependentSymNode"
        or ".numpy() is not supported" in text
    )


@contextlib.contextmanager
def quiet_stderr():
    """Export prints half-made graphs to stderr when it fails, and PyTorch logs what it can't find; the user's own prints go to stdout
    and stay."""
    loggers = [
        logger
        for name, logger in list(logging.root.manager.loggerDict.items())
        if name.partition(".")[0] == "torch" and isinstance(logger, logging.Logger) and not logger.disabled
    ]
    for logger in loggers:
        logger.disabled = True
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        for logger in loggers:
            logger.disabled = False
