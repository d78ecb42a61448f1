"""Numbers at the edges: signed zeros, NaN, infinities, whole numbers past 2^53; and shapes at theirs."""
import torch
import torch.nn.functional as F
from torch import nn

from stitchcuda_torch.cases.case import Case

inf, nan = float("inf"), float("nan")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e30, -1e30, inf, -inf, nan, 0.5]
BIG = [2**53 + 1, -(2**53) - 1, 2**62 + 12345, -(2**63), 2**63 - 1, 0, 7, -3]


def signs(y):
    """Zeros show their sign in 1/y."""
    return y, 1 / y


def cases():
    x, big = torch.tensor(SPECIAL), torch.tensor(BIG)
    a, b = x[:, None].repeat(1, 12), x[None].repeat(12, 1)
    yield Case("signbit", torch.signbit, (x,))
    yield Case("copysign", lambda a, b: (torch.copysign(a, b), torch.copysign(a, -0.0)), (a, b))
    yield Case("heaviside", torch.heaviside, (a, b))
    yield Case("hypot", torch.hypot, (a, b))
    yield Case("logaddexp", lambda a, b: (torch.logaddexp(a, b), torch.logaddexp2(a, b)), (a, b))
    # Which of -0 and 0 is the larger depends on PyTorch's CPU and on its vectors; ours is CUDA's: oracle/ops/pointwise_test.cpp.
    yield Case("extremes", lambda a, b: (torch.maximum(a, b), torch.minimum(a, b)), (a, b))
    yield Case("relu", lambda x: (F.relu(x), F.relu6(x), *signs(F.softshrink(x))), (x,))
    yield Case("clamp", lambda x: (x.clamp(min=0.0), x.clamp(1, -1), x.clamp(nan, 1), x.clamp(-1, nan), x.clamp(max=-0.0)), (x,))
    rows = torch.tensor([[1.0, nan, 2, 3, -1], [nan] * 5, [inf, -inf, 0, 1, 2], [5, 4, 3, 2, 1]])
    yield Case("median", lambda t: (*t[[0, 2, 3]].median(1), t[1:2].median(1)[0], t.median(), t[3].median(), *t[[0, 2, 3]].nanmedian(1)), (rows,))
    yield Case("topk_with_nan", lambda t: t.topk(3, 1), (rows[[0, 2, 3]],))

    yield Case("whole_arithmetic", lambda t: (t + (2**53 + 1), t - (2**62 + 3), t * (2**53 + 1), t.add(t, alpha=2**53 + 1)), (big,))
    yield Case("whole_constants", lambda t: (torch.full_like(t, 2**53 + 1), torch.full((2,), 2**63 - 1), t.masked_fill(t > 0, -(2**63)), torch.where(t > 0, t, 2**53 + 1)), (big,))
    yield Case("whole_comparison", lambda t: (t == 2**53 + 1, t > 2**53, t >= 2**63 - 1), (big,))
    yield Case("whole_bits", lambda t: (t & (2**53 + 1), t ^ (2**61 + 1), ((t * 6364136223846793005 + 1442695040888963407) >> 33) & 1023), (big,))
    yield Case("whole_clamp", lambda t: (t.clamp(min=2**53 + 1), t.clamp(2**62, 2**62 + 1), t.clamp(-2, 5)), (big,))
    yield Case("whole_range", lambda t: t[:4] + torch.arange(2**53 + 1, 2**53 + 5) + torch.arange(0, 4 * (2**60 + 1), 2**60 + 1), (big,))
    yield Case("whole_padding", lambda t: F.pad(t, (1, 1), value=2**53 + 1), (big,))

    steps = torch.tensor([-1.0, 0, 0, 2, 5])
    yield Case("search_number", lambda s: (torch.searchsorted(s, 0.0), torch.searchsorted(s, 7, right=True)), (steps,))
    yield Case("search_zero_dim", torch.searchsorted, (steps, torch.tensor(0.0)))
    yield Case("search_between_whole", torch.searchsorted, (torch.tensor([1, 3, 5]), torch.tensor([0.5, 3.5, 5.5])))
    yield Case("search_by_sorter", lambda s, v: torch.searchsorted(s, v, sorter=torch.argsort(s)), (steps.flip(0)[[0, 1, 2, 4]], x))

    generator = torch.Generator().manual_seed(131)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    yield Case("cross_without_dim", lambda a, b: (torch.cross(a, b), torch.cross(a, b, dim=0)), (normal(3, 4), normal(3, 4)))
    yield Case("cross_first_of_two", lambda a, b: (torch.cross(a, b), torch.linalg.cross(a, b)), (normal(2, 3, 3), normal(2, 3, 3)))
    yield Case("group_norm_matrix", nn.GroupNorm(2, 6), (normal(4, 6),))
    yield Case("rnn_dropout_one", nn.LSTM(3, 4, 3, dropout=1.0), (normal(5, 2, 3),))
    yield Case("cache_of_none", lambda q, k, c: F.scaled_dot_product_attention(q, torch.cat([c, k], 2), torch.cat([c, k], 2)), (normal(1, 2, 1, 8), normal(1, 2, 1, 8), normal(1, 2, 0, 8)))
    hidden = torch.tensor([[True] * 4, [False] * 4, [True, False] * 2, [True] * 4])
    yield Case("hidden_row", lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m), (normal(1, 2, 4, 8), hidden))
    yield Case("strided_inputs", lambda a, b: (a * 2 + a.sum(0), b.relu()), (normal(4, 6).t(), normal(4, 12)[:, ::2]))
