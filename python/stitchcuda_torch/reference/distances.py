"""How far values are from the truth, where the truth is: piece by piece, so that gigabytes need no second copy.

The measure is that of src/reference/numerics.cpp, field by field; who judges by it is on the other side.
"""

import dataclasses
import math

import torch

PIECE = 1 << 23  # elements: 64 MB as float64


@dataclasses.dataclass
class Distance:
    error: float = 0.0
    truth: float = 0.0
    largest: float = 0.0
    worst: int = -1
    elements: int = 0
    not_finite: int = 0
    unequal: int = 0
    first_bad: int = -1
    scattered: bool = False

    def as_json(self):
        """JSON has no infinity and no NaN: squares may overflow."""
        fields = dataclasses.asdict(self)
        return {name: value if math.isfinite(value) else str(value) for name, value in fields.items()}


def of_tensor(tensor):
    """Pieces of a tensor, as `distance` wants them."""
    flat = tensor.detach().reshape(-1)
    return lambda begin, end: flat[begin:end]


def of_number(number):
    """The same number everywhere."""
    return lambda begin, end: torch.tensor([number], dtype=torch.float64)


def distance(read, truth, pytorch=None):
    """read(begin, end): a piece of the values, flat, or one for all. truth: float64 or integers.

    pytorch: integers that are as good; of floats, what isn't finite there doesn't count either."""
    flat, sum_ = truth.reshape(-1), Distance(elements=truth.numel())
    other = None if pytorch is None else pytorch.reshape(-1)
    for begin in range(0, flat.numel(), PIECE):
        end = min(begin + PIECE, flat.numel())
        expected = flat[begin:end]
        got = read(begin, end).to(flat.device).double().expand_as(expected)
        if truth.is_floating_point():
            add_floats(sum_, begin, got, expected, None if other is None else other[begin:end].double())
        else:
            wrong = got != expected.double()
            if other is not None:
                wrong &= got != other[begin:end].double()
            add_bad(sum_, begin, wrong, "unequal")
    sum_.error, sum_.truth = math.sqrt(sum_.error), math.sqrt(sum_.truth)
    return sum_


def add_floats(sum_, begin, got, expected, other):
    """error and truth are sums of squares here."""
    difference = (got - expected).abs_()
    # One trip to the device where all is well: a sum is finite only if every term is, or if one is too large.
    error, norm, largest = torch.stack([difference.square().sum(), expected.square().sum(), difference.max()]).tolist()
    if math.isfinite(error) and math.isfinite(norm):
        add_finite(sum_, begin, difference, error, norm, largest)
        return
    finite = expected.isfinite()
    wrong = is_bad(got, expected)
    sum_.scattered = sum_.scattered or not bool(finite.all())
    add_bad(sum_, begin, wrong if other is None else wrong & ~is_bad(other, expected), "not_finite")
    counted = finite & ~wrong
    if bool(counted.any()):
        error = torch.where(counted, difference, 0).square().sum().item()
        norm = torch.where(counted, expected, 0).square().sum().item()
        difference = torch.where(counted, difference, -1)
        add_finite(sum_, begin, difference, error, norm, difference.max().item())


def is_bad(got, expected):
    """NaN or infinite where the truth isn't, or the other way round."""
    return torch.where(expected.isfinite(), ~got.isfinite(), (got != expected) & ~(got.isnan() & expected.isnan()))


def add_finite(sum_, begin, difference, error, norm, largest):
    sum_.error += error
    sum_.truth += norm
    if largest > sum_.largest or sum_.worst < 0:
        sum_.largest, sum_.worst = largest, begin + first(difference == largest)


def add_bad(sum_, begin, wrong, field):
    count = int(wrong.sum())
    if count and sum_.first_bad < 0:
        sum_.first_bad = begin + first(wrong)
    setattr(sum_, field, getattr(sum_, field) + count)


def first(mask):
    """The index of the first True; argmax says nothing about which of equals it takes."""
    return int(torch.where(mask, torch.arange(mask.numel(), device=mask.device), mask.numel()).min())


def outside(read, wanted, tolerance):
    """The share of elements with |wanted - value| > tolerance + tolerance |value|: torch.allclose(wanted, values), element by element."""
    flat, count = wanted.reshape(-1), 0
    for begin in range(0, flat.numel(), PIECE):
        end = min(begin + PIECE, flat.numel())
        expected = flat[begin:end].double()
        got = read(begin, end).to(flat.device).double().expand_as(expected)
        close = (got == expected) | ((expected - got).abs() <= tolerance + tolerance * got.abs())
        count += close.numel() - int(close.sum())
    return count / flat.numel() if flat.numel() else 0.0


def mean(truth):
    """Of the finite elements, over all of them: the constant that is nearest."""
    flat, total = truth.reshape(-1), 0.0
    for begin in range(0, flat.numel(), PIECE):
        total += flat[begin : begin + PIECE].nan_to_num(0, 0, 0).sum().item()
    return total / flat.numel() if flat.numel() else 0.0


def relative_l2(values, expected):
    """‖values - expected‖ / ‖expected‖ over lists of tensors."""
    error = norm = 0.0
    for value, wanted in zip(values, expected, strict=True):
        for got, exact in pieces(value, wanted):
            got, exact = got.double(), exact.double()
            error += (got - exact).square().sum().item()
            norm += exact.square().sum().item()
    return math.sqrt(error) / max(math.sqrt(norm), 1e-300)


def same(old, new):
    """Equal element by element, NaN to NaN, whatever their dtypes and wherever they are."""
    return old.shape == new.shape and all(same_piece(a, b.to(a.device)) for a, b in pieces(old, new))


def same_piece(a, b):
    a, b = (tensor.to(torch.promote_types(a.dtype, b.dtype)) for tensor in (a, b))
    return torch.equal(a, b) or bool(((a == b) | ((a != a) & (b != b))).all())


def all_finite(tensor):
    return all(bool(piece.isfinite().all()) for (piece,) in pieces(tensor))


def pieces(*tensors):
    """A piece of each at a time. Of strided tensors slices of the outermost dimension: flat ones would be copies."""
    if all(tensor.is_contiguous() for tensor in tensors):
        tensors = [tensor.reshape(-1) for tensor in tensors]
    rows = tensors[0].shape[0] if tensors[0].dim() else 1
    step = max(1, PIECE * rows // max(1, tensors[0].numel()))
    if step >= rows:
        yield tensors
    else:
        yield from zip(*(tensor.split(step) for tensor in tensors))
