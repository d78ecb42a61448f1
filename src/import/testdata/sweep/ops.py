"""Operators by the samples that PyTorch's own tests hold (torch.testing's OpInfo), a few of each."""

import torch
from torch.utils import _pytree as pytree

from stitchcuda_torch.cases.case import Case

# Their results are random, or meaningless before they are written to.
RANDOM = ("bernoulli", "multinomial", "normal", "rand", "uniform", "exponential", "cauchy", "geometric", "log_normal", "dropout",
          "empty", "rrelu", "fractional", "new_empty", "poisson", "alpha_dropout", "gumbel")
DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64)


def cases(samples):
    from torch.testing._internal.common_methods_invocations import op_db
    for op in op_db:
        if any(word in op.name for word in RANDOM):
            continue
        supported = op.supported_dtypes("cpu")
        for dtype in [dtype for dtype in DTYPES if dtype in supported][:2]:
            name = f"{op.name}.{op.variant_test_name}".rstrip(".") + ("" if dtype == torch.float32 else f"_{str(dtype)[6:]}")
            yield from several(op, dtype, name.replace(".", "_"), samples if dtype == torch.float32 else 1)


def several(op, dtype, name, count):
    """The samples, spread over all that there are; each is made anew, since a case may be another process's."""
    torch.manual_seed(11)
    try:
        total = sum(1 for _ in zip(range(60), op.sample_inputs("cpu", dtype, requires_grad=False)))
    except Exception:
        return
    for number in sorted({i * (total - 1) // max(count - 1, 1) for i in range(min(count, total))}):
        yield f"{name}_{number}", lambda op=op, dtype=dtype, number=number: build(op, dtype, number)


def build(op, dtype, number):
    torch.manual_seed(11)
    for i, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=False)):
        if i == number:
            return Case(op.name, *called(op.op, (sample.input, *sample.args), sample.kwargs))
    raise ValueError("no such sample")


def called(function, args, kwargs):
    """(module, inputs): the tensors among the arguments are its inputs, the rest is fixed."""
    leaves, structure = pytree.tree_flatten((args, kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    inputs = tuple(real(leaves[i].detach().contiguous()) for i in places)
    return Called(function, leaves, structure, places), inputs


class Called(torch.nn.Module):
    def __init__(self, function, leaves, structure, places):
        super().__init__()
        self.function, self.structure, self.places = function, structure, places
        self.fixed = [None if i in places else leaf for i, leaf in enumerate(leaves)]
        self.complex = [leaves[i].is_complex() for i in places]

    def forward(self, *inputs):
        leaves = list(self.fixed)
        for place, is_complex, x in zip(self.places, self.complex, inputs):
            leaves[place] = torch.view_as_complex(x) if is_complex else x.clone()
        args, kwargs = pytree.tree_unflatten(leaves, self.structure)
        results = pytree.tree_leaves(self.function(*args, **kwargs))
        results = [real(x) for x in results if isinstance(x, torch.Tensor)]
        return tuple(results)


def real(x):
    """Complex numbers cross a program's border as pairs."""
    return torch.view_as_real(x.resolve_conj()) if x.is_complex() else x
