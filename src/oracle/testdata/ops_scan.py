"""Prefix sums, products and their relatives along one dimension."""
import math

import torch

from stitchcuda_torch.cases.case import Case


def exclusive_cumsum(x):
    """Each element is the sum of those before it: a zero in front, the last one dropped."""
    first = torch.zeros_like(x.select(1, 0).unsqueeze(1))
    return torch.cat((first, torch.cumsum(x, dim=1).narrow(1, 0, x.size(1) - 1)), dim=1)


def segment_sums(x):
    """Sums over every segment (j, i], and -inf above the diagonal, as in Mamba-2."""
    length = x.size(-1)
    total = torch.cumsum(x, dim=-1)
    difference = total[..., :, None] - total[..., None, :]
    mask = torch.tril(torch.ones(length, length, dtype=torch.bool))
    return difference.masked_fill(~mask, -torch.inf)


def linear_recurrence(x, decay):
    """h[t] = decay[t] * h[t-1] + x[t], unrolled."""
    state, states = torch.zeros_like(x[:, 0]), []
    for step in range(x.size(1)):
        state = decay[:, step] * state + x[:, step]
        states.append(state)
    return torch.stack(states, dim=1)


def cases():
    generator = torch.Generator().manual_seed(104)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    x = normal(3, 6, 4)
    mask = torch.rand(3, 6, 4, generator=generator) > 0.5
    integers = torch.tensor([[3, -1, 4], [1, -5, 9]])
    table = {
        "cumsum": (lambda x: torch.cumsum(x, dim=1), x),
        "cumsum_last_dim": (lambda x: torch.cumsum(x, dim=-1), x),
        "cumsum_first_dim": (lambda x: x.cumsum(0), x),
        "cumsum_reverse": (lambda x: torch.cumsum(x.flip(1), dim=1).flip(1), x),
        "cumsum_exclusive": (exclusive_cumsum, x),
        "cumsum_masked": (lambda x, mask: torch.cumsum(x * mask, dim=1), x, mask),
        "cumsum_of_bool": (lambda mask: mask.cumsum(1), mask),
        "cumsum_of_integers": (lambda i: i.cumsum(-1), integers),
        "cumsum_of_rank_zero": (lambda x: x.cumsum(0), torch.tensor(2.5)),
        "cumsum_of_empty": (lambda x: x.cumsum(0), torch.zeros(0, 3)),
        "cumsum_of_one": (lambda x: x.cumsum(1), normal(3, 1)),
        "cumsum_of_transposed": (lambda x: x.transpose(0, 1).cumsum(1), x),
        "cumsum_dtype": (lambda i, x: i.cumsum(1, dtype=x.dtype) * x, integers, normal(2, 3)),
        "cumsum_long_row": (lambda x: x.cumsum(1), normal(2, 1025)),
        "cumprod": (lambda x: torch.cumprod(x, dim=1), x),
        "cumprod_last_dim": (lambda x: x.cumprod(-1), x),
        "cumprod_integers": (lambda i: i.cumprod(1), integers),
        "cummax": (lambda x: torch.cummax(x, dim=1), x),
        "cummin": (lambda x: torch.cummin(x, dim=-1), x),
        "logcumsumexp": (lambda x: torch.logcumsumexp(x, dim=1), x),
        "logcumsumexp_after_minus_infinity": (lambda x: torch.logcumsumexp(x, dim=0), torch.tensor([-math.inf, -math.inf, 0.5, 1.0])),
        "diff": (lambda x: torch.diff(x, dim=1), x),
        "segment_sums": (segment_sums, 0.3 * normal(2, 5)),
        "exp_of_segment_sums": (lambda x: torch.exp(segment_sums(x)), 0.3 * normal(2, 5)),
        "linear_recurrence": (linear_recurrence, normal(2, 5, 3), torch.sigmoid(normal(2, 5, 3))),
        "running_mean": (lambda x: x.cumsum(1) / torch.arange(1, x.size(1) + 1).view(1, -1, 1), x),
    }
    for name, (run, *inputs) in table.items():
        yield Case(f"scan_{name}", run, tuple(inputs))
