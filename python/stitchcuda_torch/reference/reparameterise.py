"""Other weights for a model whose own hide mistakes.

PyTorch's initial weights shrink a signal sixfold in power with every ReLU layer, and leave norms as identities: a
deep network's output is then the same for every input, and a forgotten scale is never seen. Here products get the gain
that keeps a signal (He's, sqrt(6) times PyTorch's), norms get scales, shifts and statistics that matter. What that is too
much for (weights that are as large as He's already) is held back in room.py.
"""

import math

import torch
from torch import nn

NORMS = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)
PRODUCTS = (nn.Linear, nn.Bilinear, nn.modules.conv._ConvNd)
RECURRENT = (nn.RNNBase, nn.modules.rnn.RNNCellBase)
GAIN = 6**0.5  # over PyTorch's own weights: He's
RECURRENT_GAIN = 1.5  # PyTorch's recurrences contract by 0.58 a step; beyond 1 rounding errors would grow with time
FAINT = 2.0**-5  # a deviation of that size is near enough to an epsilon of 1e-5, and no honest product of halves underflows


def reparameterise(model, seed, faint=False, shrink=1.0):
    """shrink: of every matrix and filter, whatever it belongs to."""
    generators, done = {}, set()  # weights are drawn where they lie: a CPU takes a minute for gigabytes
    with torch.no_grad():
        for module in model.modules():
            for name, tensor in [*module._parameters.items(), *module._buffers.items()]:
                if tensor is None or id(tensor) in done:
                    continue
                done.add(id(tensor))
                if tensor.device not in generators:
                    generators[tensor.device] = torch.Generator(tensor.device).manual_seed(seed)
                drawn = redraw(module, name, tensor.detach(), generators[tensor.device])
                if faint and drawn is not None and drawn.is_floating_point():
                    drawn = fade(drawn, name, generators[tensor.device])
                if shrink != 1 and drawn is not None and drawn.dim() > 1:
                    drawn = drawn * shrink
                if drawn is not None:
                    tensor.copy_(drawn.to(tensor.dtype))


def point(state, changes):
    """Changes of src/reference/inputs/pointed.h: along the first dimension of tensors by name."""
    with torch.no_grad():
        for change in changes:
            if change["name"] not in state:
                continue
            tensor = state[change["name"]]
            part = tensor[change["begin"] : change["end"]] if tensor.dim() else tensor
            part.mul_(change["scale"]).add_(change["add"])
            if change["diagonal"]:
                tensor.diagonal()[change["begin"] : change["end"]].add_(change["diagonal"])


def mix(state, seed):
    """The task's own weights, but for tensors that are one number throughout: those get others, the same where number and size are."""
    with torch.no_grad():
        for tensor in state.values():
            if is_one_number(tensor):
                number = float(tensor.reshape(-1)[0])
                generator = torch.Generator().manual_seed(seed + tensor.numel())
                drawn = torch.rand(tensor.numel(), generator=generator)
                mixed = number * (drawn + 0.5) if number else drawn - 0.5
                tensor.copy_(mixed.reshape(tensor.shape))


def is_one_number(tensor):
    return tensor.is_floating_point() and tensor.numel() > 0 and bool((tensor == tensor.reshape(-1)[0]).all())


def redraw(module, name, old, generator):
    """The new value; None: it stays, as every buffer does that isn't a norm's."""
    if isinstance(module, NORMS):
        return norm_tensor(name, old, generator)
    if name in module._buffers or not old.is_floating_point():
        return None
    if isinstance(module, PRODUCTS):
        return bias(old, generator) if name == "bias" else matrix(old, generator, GAIN)
    if isinstance(module, RECURRENT):
        return bias(old, generator) if old.dim() == 1 else matrix(old, generator, RECURRENT_GAIN)
    if isinstance(module, (nn.Embedding, nn.EmbeddingBag)):
        return table(module, old, generator)
    if isinstance(module, nn.PReLU):  # of either sign, and beyond one: else a maximum would do
        return uniform(old, generator) * 3 - 1
    return unknown(old, generator)


def fade(drawn, name, generator):
    """Small, and one index along each dimension of matrices and filters is all zeros: what a layer hands on to a norm is faint,
    and some of it nothing at all. Every third of the variances that are given is less than an epsilon."""
    if name == "running_var":
        drawn = drawn * FAINT**2
        drawn[int(torch.randint(3, (), generator=generator, device=drawn.device)) :: 3] *= FAINT**2
        return drawn
    drawn = drawn * FAINT
    for axis, size in enumerate(drawn.shape):
        if drawn.dim() > 1 and size > 2:
            drawn.select(axis, int(torch.randint(size, (), generator=generator, device=drawn.device))).zero_()
    return drawn


def norm_tensor(name, old, generator):
    if name == "weight":
        return away_from_zero(old, generator)
    if name == "running_var":
        return uniform(old, generator) * 1.5 + 0.5
    if name == "num_batches_tracked":
        return torch.randint(1, 1000, old.shape, generator=generator, device=old.device)
    if name in ("bias", "running_mean"):
        return normal(old, generator) * 0.5
    return None


def matrix(old, generator, gain):
    """As large as before, times the gain; a weight of zeros, or with NaN, becomes as large as PyTorch's default."""
    spread = spread_of(old) or 1 / math.sqrt(3 * max(1, old[0].numel()))
    return normal(old, generator) * (spread * gain)


def table(module, old, generator):
    """Other rows than the known seed makes; the one for padding stays as it is."""
    drawn = normal(old, generator) * (spread_of(old) or 1.0)
    if module.padding_idx is not None:
        drawn[module.padding_idx] = old[module.padding_idx]
    return drawn


def bias(old, generator):
    return normal(old, generator) * (spread_of(old) or 0.1)


def unknown(old, generator):
    """A parameter of unknown meaning: signs stay, and zeros become small. NaN becomes a zero."""
    old = torch.where(old.isnan(), 0, old)
    if not bool((old != 0).any()):
        return normal(old, generator) * 0.1
    size = old.abs()
    same = bool((size == size.reshape(-1)[0]).all())
    # A gain that hides what it scales (a layer scale of 1e-6), or does nothing at all.
    if same and (float(size.reshape(-1)[0]) < 0.1 or (old.numel() > 1 and bool((old == 1).all()))):
        return away_from_zero(old, generator)
    drawn = old * (uniform(old, generator) + 0.5)
    if old.dim() > 1 and bool((old == 0).double().mean() > 0.5):  # an identity: its zeros are weights, too
        drawn = torch.where(old == 0, normal(old, generator) * 0.1, drawn)
    return drawn


def away_from_zero(old, generator):
    sign = torch.randint(0, 2, old.shape, generator=generator, device=old.device) * 2 - 1
    return (uniform(old, generator) + 0.5) * sign


def normal(old, generator):
    return torch.randn(old.shape, generator=generator, device=old.device)


def uniform(old, generator):
    return torch.rand(old.shape, generator=generator, device=old.device)


def spread_of(old):
    spread = float(torch.linalg.vector_norm(old, dtype=torch.float64)) / math.sqrt(old.numel()) if old.numel() else 0.0
    return spread if math.isfinite(spread) else 0.0
