"""Inputs to try a program on: the task's own draw, and others that a program fitted to it would get wrong.

Integers and booleans always come from the task, since nothing else knows their ranges (at most in another order, or mixed where they
are the same throughout); so do floating-point inputs that hold a choice between few values. The structure of an input (triangular, symmetric, rows that add up to one) is
found in the task's own draw and given to every other one.
"""

import dataclasses

import torch


@dataclasses.dataclass
class Facts:
    """What one draw of the task tells about an input."""

    free: bool  # floating point, and not a choice between few values
    nonnegative: bool = False
    structure: str = ""


def study(tensor):
    if not tensor.is_floating_point() or tensor.numel() == 0 or is_choice(tensor):
        return Facts(free=False)
    nonnegative = bool((tensor >= 0).all()) and bool((tensor > 0).any())  # zeros alone say nothing
    return Facts(True, nonnegative, structure_of(tensor))


def is_choice(tensor):
    """Labels and masks stored as floats: a few whole numbers. Zeros alone are a state, and free."""
    sample = tensor.reshape(-1)[:4096]
    values = sample.unique()
    return tensor.numel() > 16 and 1 < len(values) <= 3 and bool((values == values.round()).all())


def structure_of(tensor):
    if tensor.dim() == 0 or tensor.numel() < 2 or bool((tensor == tensor.reshape(-1)[0]).all()):
        return ""
    # Nearly every input has none of them, as its first matrix or row shows.
    return next((name for name, holds in STRUCTURES.items() if holds(first_part(tensor)) and holds(tensor)), "")


def first_part(tensor):
    return tensor.reshape(-1, *tensor.shape[-2:])[:1] if tensor.dim() > 2 else tensor


def is_square(x):
    return x.dim() >= 2 and x.shape[-1] == x.shape[-2] > 1


def is_simplex(x):
    return x.shape[-1] > 1 and bool((x >= 0).all()) and bool(((x.double().sum(-1) - 1).abs() < 1e-3).all())


STRUCTURES = {
    "lower": lambda x: is_square(x) and torch.equal(x.tril(), x),
    "upper": lambda x: is_square(x) and torch.equal(x.triu(), x),
    "symmetric": lambda x: is_square(x) and torch.equal(x, x.mT),
    "simplex": is_simplex,
}


def give_structure(tensor, structure):
    if structure == "lower":
        return tensor.tril()
    if structure == "upper":
        return tensor.triu()
    if structure == "symmetric":
        return (tensor + tensor.mT) / 2
    if structure == "simplex":  # zeros stay: a logarithm of them counts
        positive = tensor.abs()
        positive = torch.where(positive.sum(-1, keepdim=True) > 0, positive, 1)
        return positive / positive.sum(-1, keepdim=True)
    return tensor


# Each takes (the task's draw, facts, generator) and gives float32 of the same shape.


def normal(task, facts, generator):
    return torch.randn(task.shape, generator=generator, device=task.device)


def one_sided(task, facts, generator):
    """Normal numbers, none below zero where the task has none there."""
    drawn = normal(task, facts, generator)
    return drawn.abs() if facts.nonnegative else drawn


def shifted(task, facts, generator):
    return uniform(task, task.shape, generator) * 4 - 2


def scaled(task, facts, generator):
    """A scale and an offset for each sample: averages no longer hide which sample they come from."""
    scale = 2 ** (per_sample(task, generator) * 6 - 3)
    return (normal(task, facts, generator) + per_sample(task, generator) * 2 - 1) * scale


def sparse(task, facts, generator):
    chance = uniform(task, task.shape, generator)
    kept = chance <= chance.min().clamp(min=0.1)  # one at least
    return normal(task, facts, generator) * kept


def waves(task, facts, generator):
    """Neighbours alike, and far parts different: what independent draws never are."""
    steps = torch.linspace(0, 1, max(1, task[0].numel() if task.dim() > 1 else task.numel()), device=task.device)
    steps = steps.reshape((1, *task.shape[1:]) if task.dim() > 1 else task.shape)
    frequency, phase = per_sample(task, generator) * 40 + 3, per_sample(task, generator) * 6.3
    return torch.sin(steps * frequency + phase) * 1.5 + steps - 0.5


def positive(task, facts, generator):
    """Heavy-tailed: exp of a normal number."""
    return normal(task, facts, generator).exp()


def outliers(task, facts, generator):
    """The task's own draw with a few large values: a program that skips a part of the input misses one."""
    flat = task.float().contiguous().reshape(-1).clone()
    count = max(1, min(64, flat.numel() // 1000))
    places = torch.randint(flat.numel(), (count,), generator=generator, device=task.device)
    size = flat.abs().max().clamp(min=1) * (4 + 12 * torch.rand(count, generator=generator, device=task.device))
    sign = 1 if facts.nonnegative else torch.randint(0, 2, (count,), generator=generator, device=task.device) * 2 - 1
    flat[places] = size * sign
    return flat.reshape(task.shape)


def large(task, facts, generator):
    """In the hundreds: exp of them overflows unless the largest is taken off first."""
    return one_sided(task, facts, generator) * 100


def offset(task, facts, generator):
    """A mean a thousand times the deviation: a variance as the mean of squares less the squared mean is nothing but rounding. By the
    seed, everywhere, or in some samples or channels, so that no part tells of the others."""
    drawn = normal(task, facts, generator)
    axis = generator.initial_seed() % PARTS - 1
    if not 0 <= axis < task.dim() or task.shape[axis] < 2:
        return drawn * 1e-3 + 1
    chosen = uniform(task, task.shape[axis : axis + 1], generator) < 0.5
    chosen[0], chosen[-1] = False, True
    drawn = drawn.abs() if facts.nonnegative else drawn
    return torch.where(chosen.reshape(-1, *[1] * (task.dim() - axis - 1)), drawn * 1e-3 + 1, drawn)


def ties(task, facts, generator):
    """Five values, many times each: which of the largest comes first matters."""
    drawn = torch.randint(0, 5, task.shape, generator=generator, device=task.device) / 2
    return drawn if facts.nonnegative else drawn - 1


def zero_rows(task, facts, generator):
    """One index along each dimension is all zeros, and the next one small: whole rows, columns, channels and samples without
    anything in them, which is where an epsilon counts. What has just one row is zeros altogether."""
    drawn = one_sided(task, facts, generator)
    wide = [axis for axis, size in enumerate(task.shape) if size > 1]
    if len(wide) < 2:
        return torch.zeros_like(drawn)
    for axis in wide:
        size = task.shape[axis]
        chosen, exponent = int(torch.randint(size, (), generator=generator, device=task.device)), uniform(task, (), generator)
        drawn.select(axis, chosen).zero_()
        if size > 2:
            drawn.select(axis, (chosen + 1) % size).mul_(2 ** (-6 - 6 * exponent))
    return drawn


def ends(task, facts, generator):
    """The row maximum, by far, is the last element, one of the tail after whole vectors and warps, or the first: a reduction that skips
    it finds another maximum, and the exponential overflows. With more than two dimensions, every second sample has it along the
    second one instead."""
    drawn = one_sided(task, facts, generator)
    if task.dim() == 0:
        return drawn
    if task.dim() <= 2:
        plant_at_ends(drawn, generator)
    else:
        plant_at_ends(drawn[0::2], generator)
        plant_at_ends(drawn[1::2].movedim(1, -1), generator)
    return drawn


def plant_at_ends(rows, generator):
    """In place, along the last dimension: every fourth row stays as it is."""
    size, shape = rows.shape[-1], rows.shape[:-1]
    if size < 2:
        return
    kind = torch.arange(shape.numel(), device=rows.device).reshape(shape) % 4
    back = torch.randint(min(size, 32), shape, generator=generator, device=rows.device)
    at = torch.where(kind == 0, size - 1, torch.where(kind == 1, size - 1 - back, 0)).unsqueeze(-1)
    values = (100 + 100 * uniform(rows, shape, generator)).unsqueeze(-1)
    rows.scatter_(-1, at, torch.where(kind.unsqueeze(-1) == 3, rows.gather(-1, at), values))


def patches(task, facts, generator):
    """The task's own draw, with patches that are in the hundreds, zero, or very small: a program that samples a few elements to
    recognise the kind of inputs takes them for the task's."""
    flat = task.float().contiguous().reshape(-1).clone()
    longest = max(1, min(task.shape[-1] if task.dim() else 1, flat.numel() // 16))
    for change in (lambda part: part.copy_((100 + 100 * part.abs()).copysign(part)), torch.Tensor.zero_, lambda part: part.mul_(2**-12)) * 2:
        begin, length = int(uniform(task, (), generator) * flat.numel()), 1 + int(uniform(task, (), generator) * longest)
        change(flat[begin : begin + length])
    return flat.reshape(task.shape)


def prefix(task, facts, generator, axis=0):
    """Zeros from a secret index on along the first dimension: a recurrence forgets, and its first steps are less than rounding beside
    the last ones."""
    drawn = one_sided(task, facts, generator)
    if task.dim() > axis and task.shape[axis] > 1:
        size = task.shape[axis]
        part = generator.initial_seed() % PARTS + float(uniform(task, (), generator))
        kept = 1 + int(part / PARTS * (size - 1))
        drawn.narrow(axis, kept, size - kept).zero_()
    return drawn


PARTS = 4  # a seed modulo this says in which part a prefix ends, and which input is the large one: src/reference/inputs/draw.h


def inner_prefix(task, facts, generator):
    """The same along the second dimension."""
    return prefix(task, facts, generator, axis=1)


def low(task, facts, generator):
    """Everything far below zero: a search for the largest that begins at zero finds zero. By the seed, below what others begin at, or
    above what searches for the smallest begin at."""
    size = (100, 1e4, 1e6, -1e4)[generator.initial_seed() % PARTS]
    return -size - 100 * uniform(task, task.shape, generator)  # no further apart: a logarithm of a softmax stays finite


def small(task, facts, generator):
    """Of a ten thousandth: one more or less than these is nothing but rounding."""
    return one_sided(task, facts, generator) * 1e-4


def uniform(task, shape, generator):
    return torch.rand(shape, generator=generator, device=task.device)


def not_finite(task, facts, generator):
    """The task's own draw with a NaN and an infinity of each sign."""
    flat = task.float().contiguous().reshape(-1).clone()
    if flat.numel() >= 8 and not facts.structure:
        places = torch.randint(flat.numel(), (3,), generator=generator, device=task.device)
        flat[places] = torch.tensor([float("nan"), float("inf"), float("inf") if facts.nonnegative else -float("inf")], device=task.device)
    return flat.reshape(task.shape)


def per_sample(task, generator):
    """Uniform in [0, 1), one number for each index of the first dimension; one for all where there is just one."""
    if task.dim() < 2:
        return torch.rand((), generator=generator, device=task.device)
    return torch.rand((task.shape[0],) + (1,) * (task.dim() - 1), generator=generator, device=task.device)


# Each takes (the task's draws, facts, seed, another draw) and gives all inputs.


def uneven(tensors, facts, seed, again):
    """One input far larger than the others: what is added to something large shows only so. The seed says which (src/reference/inputs/draw.h)."""
    numbers = [i for i, tensor in enumerate(tensors) if tensor.is_floating_point()]
    chosen = numbers[(seed % PARTS if len(numbers) <= PARTS else seed // PARTS) % len(numbers)] if numbers else None
    return [
        tensor * (UNEVEN if i == chosen else 1 / UNEVEN) if fact.free and fact.structure != "simplex" else tensor
        for i, (tensor, fact) in enumerate(zip(tensors, facts))
    ]


UNEVEN = 64.0  # squared, it brings a millionth near to one; and no product of halves underflows


def masks(tensors, facts, seed, again):
    """Choices that the task never varies, in other patterns: masks mixed, positions in another order, other lengths and offsets; and of
    integers that repeat (tokens, groups) some never occur. The first entry of each row of a mask stays, so that no row is masked as a
    whole. By the seed all of them, or one alone, since a model may refuse some. again: another draw of the task."""
    changed = [rearranged(tensor, fact, other, seed) for tensor, fact, other in zip(tensors, facts, again)]
    others = [i for i, (old, new) in enumerate(zip(tensors, changed)) if old is not new]
    part = seed % PARTS
    if part and others:
        chosen = others[(part - 1) % len(others)]
        return [new if i == chosen else old for i, (old, new) in enumerate(zip(tensors, changed))]
    return changed


def rearranged(tensor, facts, again, seed):
    if tensor.is_floating_point() and facts.free:
        return tensor
    if counts_up(tensor):
        return permuted(tensor, seed)
    if torch.equal(tensor, again):
        return mixed(tensor, seed) if is_mask(tensor, facts, again) else recounted(tensor, seed)
    return thinned(tensor, seed) if repeats(tensor) else tensor


def empty_rows(tensors, facts, seed, again):
    """Masks of which whole rows keep nothing or everything: what a model makes of these is its own, if it makes anything."""
    return [emptied(tensor, seed) if is_mask(tensor, fact, other) else tensor for tensor, fact, other in zip(tensors, facts, again)]


def is_mask(tensor, facts, again):
    if tensor.dtype == torch.bool:
        return True
    if tensor.is_floating_point():
        return not facts.free and torch.equal(tensor, again)
    return is_whole_mask(tensor)


def is_whole_mask(tensor):
    """Of integers that are zeros and ones; those that have one dimension alone are rather lengths."""
    return tensor.dim() > 1 and tensor.numel() > 0 and not tensor.is_complex() and int(tensor.min()) >= 0 and int(tensor.max()) == 1


def emptied(tensor, seed):
    """Rows of one value, of one value but for an element, and mixed ones: at least one of each, whichever value it is that keeps."""
    out, values = mixed(tensor, seed), values_of_mask(tensor)
    if tensor.dim() == 0:
        return out
    rows, length = (out.shape[:-1] if tensor.dim() > 1 else (1,)), out.shape[-1]
    generator = torch.Generator(tensor.device).manual_seed(seed + 1)
    kind = torch.randint(5, rows, generator=generator, device=tensor.device)
    first = torch.tensor([0, 1, 2, 3, 4][: kind.numel()], device=tensor.device)
    kind.reshape(-1)[: len(first)] = first
    place = torch.randint(max(length, 1), rows, generator=generator, device=tensor.device)
    if tensor.dim() > 1:
        kind, place = kind.unsqueeze(-1), place.unsqueeze(-1)
    one = (torch.arange(length, device=tensor.device) == place) & (kind > 1)
    most = torch.where(kind % 2 == 0, values[0], values[-1])
    least = torch.where(kind % 2 == 0, values[-1], values[0])
    return torch.where(kind == 4, out, torch.where(one, least, most))


def values_of_mask(tensor):
    if tensor.is_floating_point():
        return tensor.unique()
    return torch.tensor([0, 1], device=tensor.device).to(tensor.dtype)


def mixed(tensor, seed):
    """Each element one of the values that occur; booleans, either."""
    values = values_of_mask(tensor)
    generator = torch.Generator(tensor.device).manual_seed(seed)
    out = values[torch.randint(len(values), tensor.shape, generator=generator, device=tensor.device)]
    if tensor.numel() and tensor.dim():
        out[..., 0] = tensor[..., 0]
    return out


def recounted(tensor, seed):
    """Lengths, offsets, orders and positions that were the same in every draw: offsets between the same ends, orders in another order,
    lengths up to the largest; zeros alone are a choice."""
    if tensor.numel() == 0 or tensor.is_complex():
        return tensor
    flat, generator = tensor.reshape(-1), torch.Generator(tensor.device).manual_seed(seed)
    least, most = int(flat.min()), int(flat.max())
    if least == most == 0:
        return mixed(tensor, seed)
    ascending = bool((flat[1:] >= flat[:-1]).all())
    if len(flat) > 2 and not ascending and len(flat.unique()) == len(flat):
        return flat[torch.randperm(len(flat), generator=generator, device=tensor.device)].reshape(tensor.shape)
    drawn = torch.randint(min(least, 1), most + 1, flat.shape, generator=generator, device=tensor.device)
    if len(flat) > 2 and least < most and ascending:
        drawn[0], drawn[-1] = least, most
        drawn = drawn.clamp(min=least).sort().values
    return drawn.to(tensor.dtype).reshape(tensor.shape)


def counts_up(tensor):
    if tensor.dtype not in (torch.int64, torch.int32) or tensor.dim() == 0 or tensor.shape[-1] < 3:
        return False
    return bool((tensor == torch.arange(tensor.shape[-1], device=tensor.device)).all())


def permuted(tensor, seed):
    """Each row in an order of its own."""
    drawn = torch.rand(tensor.shape, generator=torch.Generator().manual_seed(seed))
    return tensor.gather(-1, drawn.argsort(-1).to(tensor.device))


def repeats(tensor):
    """Sorted ones may be offsets, and those that differ from each other a permutation."""
    if tensor.dtype not in (torch.int64, torch.int32) or tensor.numel() < 3:
        return False
    flat = tensor.reshape(-1)
    return bool((flat[1:] < flat[:-1]).any()) and 2 < len(flat.unique()) < flat.numel()


def thinned(tensor, seed):
    """Half of the values take the places of the others."""
    values, places = tensor.unique(return_inverse=True)
    order = torch.randperm(len(values), generator=torch.Generator().manual_seed(seed)).to(tensor.device)
    kept = order[: (len(values) + 1) // 2]
    to = kept.repeat(2)[: len(values)]
    return values[torch.empty_like(order).scatter_(0, order, to)][places]


WHOLE = {"uneven": uneven, "masks": masks, "empty rows": empty_rows}
DRAWS = {
    "normal": normal,
    "shifted": shifted,
    "scaled": scaled,
    "sparse": sparse,
    "waves": waves,
    "positive": positive,
    "outliers": outliers,
    "large": large,
    "offset": offset,
    "ties": ties,
    "zero rows": zero_rows,
    "ends": ends,
    "patches": patches,
    "prefix": prefix,
    "inner prefix": inner_prefix,
    "low": low,
    "small": small,
    "not finite": not_finite,
}
NAMES = ("task", *DRAWS, *WHOLE)


PLANTED = tuple(
    f"{kind}{sign}"
    for kind in ("bounds", "whole numbers", "far angles", "sizes", "tails", "wide integers", "not numbers")
    for sign in ("", " below zero")
)
PLANTED_ROWS = 0.125


def plant(kind, planted, task_inputs, facts, seed):
    """The task's own draw, with what the graph's constants ask for in its midst. planted: {values, share, smallest, largest} of each
    input."""
    device = next((tensor.device for tensor in task_inputs), torch.device("cpu"))
    generator = torch.Generator(device).manual_seed(seed)
    return [
        with_plants(tensor, fact, one, generator) if takes(kind, tensor, fact) else tensor for tensor, fact, one in zip(task_inputs, facts, planted)
    ]


def takes(kind, tensor, facts):
    if kind.startswith("wide integers"):
        has_signs = not kind.endswith("below zero") or bool((tensor < 0).any())
        return has_signs and not tensor.is_floating_point() and is_of_numbers(tensor.reshape(-1))
    return facts.free or not tensor.is_floating_point()


def is_of_numbers(flat):
    """Integers that are neither choices nor offsets, positions or another permutation."""
    if len(flat) < 3 or not bool((flat[1:] < flat[:-1]).any()):
        return False
    count = len(flat.unique())
    return count > 2 and not (count == len(flat) == int(flat.max()) - int(flat.min()) + 1)


def with_plants(tensor, facts, planted, generator):
    out = tensor.double()
    if planted["largest"]:
        dims = tuple(range(1, tensor.dim())) if tensor.dim() > 1 else None
        size = out.square().mean(dims, keepdim=True).sqrt() if tensor.numel() else out
        exponent = per_sample(tensor, generator).double()
        wanted = planted["smallest"] * (planted["largest"] / planted["smallest"]) ** exponent
        out = torch.where(size > 0, out * (wanted / size), out)
    if planted["values"]:
        values = torch.tensor([float(value) for value in planted["values"]], dtype=torch.float64, device=tensor.device)
        chosen = values[torch.randint(len(values), tensor.shape, generator=generator, device=tensor.device)]
        out = torch.where(uniform(tensor, tensor.shape, generator) < planted["share"], chosen, out)
        if tensor.dim() > 1 and tensor.numel():  # and whole rows: of nothing but padding, or beyond a bound throughout
            whole = uniform(tensor, (*tensor.shape[:-1], 1), generator) < PLANTED_ROWS
            whole.reshape(-1)[-1] = whole.numel() > 1
            out = torch.where(whole, chosen[..., :1], out)
    return give_structure(out, facts.structure).to(tensor.dtype)


def draw(name, task_inputs, facts, seed, again=None):
    """again: another draw of the task, which masks are compared with."""
    if name == "task":
        return task_inputs
    if name in WHOLE:
        return WHOLE[name](task_inputs, facts, seed, again)
    device = next((tensor.device for tensor in task_inputs), torch.device("cpu"))
    generator = torch.Generator(device).manual_seed(seed)
    return [replace(name, tensor, fact, generator) if fact.free else tensor for tensor, fact in zip(task_inputs, facts)]


def replace(name, tensor, facts, generator):
    drawn = DRAWS[name](tensor, facts, generator)
    return give_structure(drawn, facts.structure).to(tensor.dtype)
