"""Numbers at the edges: NaN, infinities, signed zeros, integers past 2^53, ties, empty and one-element tensors."""

import torch
import torch.nn.functional as F

from stitchcuda_torch.cases.case import Case

inf, nan = float("inf"), float("nan")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 3.5, 1e-30, -1e-30, 1e30, -1e30, inf, -inf, nan, 20.5, -20.5, 100.0, -100.0]
UNARY = ("abs neg sign sgn exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh tanh asinh acosh "
         "atanh sigmoid erf erfc erfinv lgamma digamma floor ceil round trunc frac relu square signbit isnan isinf isfinite isposinf isneginf "
         "isreal nan_to_num logit sinc deg2rad rad2deg positive i0 special.i0e special.i1 special.i1e special.ndtr special.ndtri "
         "special.log_ndtr special.entr special.erfcx special.bessel_j0 special.bessel_j1 special.bessel_y0 special.modified_bessel_i0 "
         "special.gammaln special.psi").split()
ACTIVATIONS = "relu6 gelu silu mish softplus elu selu celu leaky_relu hardsigmoid hardswish hardtanh hardshrink softshrink tanhshrink logsigmoid softsign".split()
BINARY = ("add sub mul div true_divide floor_divide fmod remainder pow atan2 minimum maximum fmin fmax hypot copysign heaviside logaddexp "
          "logaddexp2 xlogy eq ne lt le gt ge isclose ldexp nextafter special.xlog1py special.zeta dist float_power rsub logical_and logical_or "
          "logical_xor").split()
TINY = ("special.ndtr", "logaddexp2")  # their results are rounding where 1/y shows it
BIG = [2**53 + 1, -(2**53) - 1, 2**62 + 12345, -(2**63), 2**63 - 1, 0, 7, -3]


def find(name):
    function = torch
    for part in name.split("."):
        function = getattr(function, part)
    return function


def signs(y):
    """What 1/y says of zeros."""
    return (y, 1 / y) if y.is_floating_point() else y


def cases(samples):
    x = torch.tensor(SPECIAL)
    for name in UNARY:
        yield f"unary_{name}", lambda f=find(name), keep=name in TINY: Case("", lambda x: f(x) if keep else signs(f(x)), (x,))
    for name in ACTIVATIONS:
        yield f"activation_{name}", lambda f=getattr(F, name): Case("", lambda x: f(x), (x,))
    for name in BINARY:
        yield f"binary_{name}", lambda f=find(name), keep=name in TINY: Case("", lambda a, b: f(a, b) if keep else signs(f(a, b)), (x[:, None].expand(20, 20).contiguous(), x[None].expand(20, 20).contiguous()))
    yield from clamps(x)
    yield from reductions(x)
    yield from orders(x)
    yield from integers()
    yield from shapes()


def clamps(x):
    for i, (low, high) in enumerate([(-1, 1), (1, -1), (None, 0.0), (0.0, None), (nan, 1.0), (-1.0, nan), (-inf, inf), (-0.0, 0.0), (0.0, -0.0)]):
        yield f"clamp_{i}", lambda low=low, high=high: Case("", lambda x: signs(x.clamp(low, high)), (x,))
    yield "clamp_tensors", lambda: Case("", lambda x, a, b: signs(torch.clamp(x, a, b)), (x[:, None].repeat(1, 20), x[None].repeat(20, 1), x.flip(0)[None].repeat(20, 1)))
    yield "clamp_min_tensor", lambda: Case("", lambda x, a: torch.clamp_min(x, a), (x, x.flip(0)))
    yield "clamp_integers", lambda: Case("", lambda x: (x.clamp(-2, 5), x.clamp(max=3), x.clamp(min=2**53 + 1), x.clamp(2**62, 2**62 + 1)), (torch.tensor(BIG),))
    yield "hardtanh_crossed", lambda: Case("", lambda x: F.hardtanh(x, -2, 3), (x,))
    yield "threshold", lambda: Case("", lambda x: F.threshold(x, 0.5, -7), (x,))


def rows(x):
    finite = [1.0, 3.0, -2.0, 3.0, -0.0, 0.0]
    return torch.tensor([finite, [1, nan, 2, 3, -1, 0], [nan] * 6, [inf, -inf, 0, 1, 2, 3], [-inf] * 6, [inf, inf, 1, nan, inf, 0], [0, -0.0, 0, -0.0, 0, -0.0]])


def reductions(x):
    for name in ("sum mean prod amax amin max min argmax argmin any all logsumexp norm var std median nanmedian mode nansum nanmean cumsum cumprod "
                 "cummax cummin logcumsumexp softmax log_softmax aminmax count_nonzero sort argsort msort quantile nanquantile").split():
        def run(t, f=getattr(torch, name), name=name):
            if name in ("aminmax", "count_nonzero"):
                return f(t, dim=1)
            if name in ("quantile", "nanquantile"):
                return f(t, torch.tensor([0.0, 0.3, 1.0], dtype=t.dtype), dim=1)
            if name == "msort":
                return f(t)
            result = f(t, 2, 1) if name == "norm" else f(t, dim=1)
            return tuple(result) if isinstance(result, tuple) else result
        yield f"reduce_{name}", lambda run=run: Case("", run, (rows(x),))
    yield "median_all", lambda: Case("", lambda t: (t.median(), t[0].median(), t[0, :5].median()), (rows(x),))
    yield "median_even", lambda: Case("", lambda t: tuple(t.median(0)), (torch.tensor([[1.0, 2], [3, 1], [2, 1], [4, 2]]),))
    yield "nanmedian_all", lambda: Case("", lambda t: (t.nanmedian(), t[1].nanmedian()), (rows(x),))
    yield "norm_orders", lambda: Case("", lambda t: tuple(torch.linalg.vector_norm(t, o, dim=1) for o in (0, 1, 2, 3, inf, -inf, 0.5, -1)), (rows(x)[:1],))
    yield "var_one", lambda: Case("", lambda t: (t[:, :1].var(1), t[:, :1].std(1, correction=0)), (rows(x),))
    yield "empty", lambda: Case("", lambda t: (t.sum(1), t.prod(1), t.mean(1), t.any(1), t.all(1), t.logsumexp(1), torch.softmax(t, 1)), (torch.zeros(3, 0),))


def orders(x):
    ties = torch.tensor([3.0, 1, 3, 2, 1, 3, 2, 2, 1, 0, 3])
    for largest in (True, False):
        for k in (1, 4, 11):
            yield f"topk_ties_{largest}_{k}", lambda k=k, largest=largest: Case("", lambda t: tuple(t.topk(k, largest=largest)), (ties,))
        yield f"topk_nan_{largest}", lambda largest=largest: Case("", lambda t: tuple(t.topk(4, 1, largest=largest)), (rows(x),))
    yield "topk_unsorted", lambda: Case("", lambda t: t.topk(4, sorted=False)[0].sort()[0], (ties,))
    yield "sort_descending_ties", lambda: Case("", lambda t: tuple(torch.sort(t, descending=True, stable=True)), (ties,))
    yield "sort_nan", lambda: Case("", lambda t: (*torch.sort(t, 1, stable=True), *torch.sort(t, 1, descending=True, stable=True)), (rows(x),))
    yield "kthvalue", lambda: Case("", lambda t: tuple(t.kthvalue(3, 1)), (rows(x),))
    steps = torch.tensor([-1.0, 0, 0, 2, 5])
    for right in (False, True):
        yield f"searchsorted_scalar_{right}", lambda right=right: Case("", lambda s: (torch.searchsorted(s, 0.0, right=right), torch.searchsorted(s, 7, right=right)), (steps,))
        yield f"searchsorted_zero_dim_{right}", lambda right=right: Case("", lambda s, v: torch.searchsorted(s, v, right=right), (steps, torch.tensor(0.0)))
        yield f"searchsorted_special_{right}", lambda right=right: Case("", lambda s, v: torch.searchsorted(s, v, right=right), (steps, x))
        yield f"bucketize_scalar_{right}", lambda right=right: Case("", lambda s: torch.bucketize(2.0, s, right=right), (steps,))
        yield f"bucketize_{right}", lambda right=right: Case("", lambda s, v: torch.bucketize(v, s, right=right, out_int32=True), (steps, x))
    yield "searchsorted_mixed", lambda: Case("", lambda s, v: torch.searchsorted(s, v), (torch.tensor([1, 3, 5]), torch.tensor([0.5, 3.5, 5.5])))
    yield "searchsorted_sorter", lambda: Case("", lambda s, v: torch.searchsorted(s, v, sorter=torch.argsort(s)), (steps.flip(0), x))
    yield "unique_ties_argmax", lambda: Case("", lambda t: (t.argmax(), t.argmin(), t.max(0)[1], t.min(0)[1]), (ties,))


def integers():
    big = torch.tensor(BIG)
    yield "big_add", lambda: Case("", lambda t: (t + 1, t - 1, t + (2**53 + 1), t - (2**62 + 3)), (big,))
    yield "big_mul", lambda: Case("", lambda t: (t * 3, t * (2**53 + 1), t // 3, t % 7, t // -3, t % -7), (big,))
    yield "big_compare", lambda: Case("", lambda t: (t == 2**53 + 1, t > 2**53, t < 2**62 + 12345, t == 2**63 - 1, t >= 2**63 - 1), (big,))
    yield "big_full", lambda: Case("", lambda t: (torch.full_like(t, 2**53 + 1), torch.full((2,), 2**63 - 1), t.new_full((2,), -(2**63)), torch.tensor(2**60 + 1) + t), (big,))
    yield "big_where", lambda: Case("", lambda t: torch.where(t > 0, t, 2**53 + 1), (big,))
    yield "big_masked_fill", lambda: Case("", lambda t: t.masked_fill(t > 0, 2**53 + 1), (big,))
    yield "big_arange", lambda: Case("", lambda t: t[:4] + torch.arange(2**53 + 1, 2**53 + 5), (big,))
    yield "big_arange_step", lambda: Case("", lambda t: t[:4] + torch.arange(0, 4 * (2**60 + 1), 2**60 + 1), (big,))
    yield "big_reduce", lambda: Case("", lambda t: (t.sum(), t.prod(), t.max(), t.min(), t.argmax(), t.cumsum(0), t.cumprod(0)), (big,))
    yield "big_bits", lambda: Case("", lambda t: (t & (2**53 + 1), t | 2**60, t ^ (2**61 + 1), ~t, t << 3, t >> 5), (big,))
    yield "big_hash", lambda: Case("", lambda t: ((t * 6364136223846793005 + 1442695040888963407) >> 33) & 1023, (torch.arange(16),))
    yield "big_sort", lambda: Case("", lambda t: (*t.sort(), *t.topk(3)), (big,))
    yield "big_pow", lambda: Case("", lambda t: (t**3, torch.pow(3, t)), (torch.tensor([0, 1, 2, 39, 40, 63]),))
    yield "big_matmul", lambda: Case("", lambda a, b: (a @ b, a[0] @ b[:, 0], torch.einsum("ij,jk->ik", a, b)), (torch.tensor([[2**53 + 1, 3], [5, 2**40]]), torch.tensor([[1, 2], [2**30, 7]])))
    yield "big_fill", lambda: Case("", lambda t: t.clone().fill_(2**53 + 1), (big,))
    yield "big_pad", lambda: Case("", lambda t: F.pad(t, (1, 1), value=2**53 + 1), (big,))
    yield "big_index_fill", lambda: Case("", lambda t: t.index_fill(0, torch.tensor([1]), 2**53 + 1), (big,))
    yield "big_abs", lambda: Case("", lambda t: (t.abs(), -t, t.sign(), t.clamp_min(0)), (big,))
    yield "narrow", lambda: Case("", lambda t: (t + t, t * t, -t, t - 100, t // 7, t.sum(), t << 1), (torch.tensor([-128, 127, 100, 1], dtype=torch.int8),))
    yield "int16", lambda: Case("", lambda t: (t + t, t * t), (torch.tensor([32767, -5], dtype=torch.int16),))
    yield "gcd", lambda: Case("", lambda a, b: (torch.gcd(a, b), torch.lcm(a, b)), (torch.tensor([12, -18, 0, 7]), torch.tensor([18, 12, 5, 0])))
    yield "isclose_integers", lambda: Case("", lambda a, b: torch.isclose(a, b, rtol=0.1), (torch.tensor([100, 5]), torch.tensor([105, 6])))


def shapes():
    g = torch.Generator().manual_seed(3)
    r = lambda *s: torch.randn(*s, generator=g)  # noqa: E731
    import warnings
    warnings.simplefilter("ignore")
    yield "cross_without_dim", lambda: Case("", lambda a, b: torch.cross(a, b), (r(3, 4), r(3, 4)))
    yield "cross_first_of_three", lambda: Case("", lambda a, b: torch.cross(a, b), (r(2, 3, 3), r(2, 3, 3)))
    yield "cross_dim", lambda: Case("", lambda a, b: torch.cross(a, b, dim=0), (r(3, 4), r(3, 4)))
    for mode in ("bilinear", "bicubic"):
        for size in ((5, 7), (20, 9)):
            for corners in (False, True):
                yield f"antialias_{mode}_{size[0]}_{corners}", lambda mode=mode, size=size, corners=corners: Case("", lambda x: F.interpolate(x, size=size, mode=mode, antialias=True, align_corners=corners), (r(1, 2, 13, 11),))
        yield f"antialias_{mode}_scale", lambda mode=mode: Case("", lambda x: F.interpolate(x, scale_factor=(0.4, 1.7), mode=mode, antialias=True), (r(1, 2, 13, 11),))
    yield "group_norm_2d", lambda: Case("", torch.nn.GroupNorm(2, 6), (r(4, 6),))
    yield "group_norm_one_group", lambda: Case("", torch.nn.GroupNorm(1, 6), (r(4, 6),))
    yield "group_norm_3d", lambda: Case("", torch.nn.GroupNorm(3, 6), (r(4, 6, 5),))
    yield "batch_norm_2d", lambda: Case("", torch.nn.BatchNorm1d(6), (r(4, 6),))
    yield "instance_norm_unbatched", lambda: Case("", torch.nn.InstanceNorm1d(6, affine=True), (r(6, 5),))
    for kind in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
        yield f"{kind.__name__}_dropout_one", lambda kind=kind: Case("", kind(3, 4, 3, dropout=1.0), (r(5, 2, 3),))
        yield f"{kind.__name__}_dropout_one_eval", lambda kind=kind: Case("", kind(3, 4, 3, dropout=1.0), (r(5, 2, 3),), eval=True)
        yield f"{kind.__name__}_unbatched", lambda kind=kind: Case("", kind(3, 4, 2, bidirectional=True), (r(5, 3),))
        yield f"{kind.__name__}_one_step", lambda kind=kind: Case("", kind(3, 4, 2, batch_first=True), (r(1, 1, 3),))
    yield "masked_row", lambda: Case("", lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m), (r(1, 2, 4, 8), torch.tensor([[True] * 4, [False] * 4, [True, False] * 2, [True] * 4])))
    yield "masked_row_float", lambda: Case("", lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m), (r(1, 2, 4, 8), torch.tensor([[0.0] * 4, [-inf] * 4, [0.0, -inf] * 2, [0.0] * 4])))
    yield "masked_row_softmax", lambda: Case("", lambda q, m: torch.softmax((q @ q.mT).masked_fill(~m, -inf), -1), (r(1, 2, 4, 8), torch.tensor([[True] * 4, [False] * 4, [True, False] * 2, [True] * 4])))
    yield "causal_longer_keys", lambda: Case("", lambda q, k: F.scaled_dot_product_attention(q, k, k, is_causal=True), (r(1, 2, 3, 8), r(1, 2, 5, 8)))
    yield "causal_longer_queries", lambda: Case("", lambda q, k: F.scaled_dot_product_attention(q, k, k, is_causal=True), (r(1, 2, 5, 8), r(1, 2, 3, 8)))
    yield "cache_of_none", lambda: Case("", lambda q, k, c: F.scaled_dot_product_attention(q, torch.cat([c, k], 2), torch.cat([c, k], 2)), (r(1, 2, 1, 8), r(1, 2, 1, 8), r(1, 2, 0, 8)))
    yield "keys_of_none", lambda: Case("", lambda q, k: F.scaled_dot_product_attention(q, k, k), (r(1, 2, 1, 8), r(1, 2, 0, 8)))
    yield "cache_of_one", lambda: Case("", lambda q, k, c: F.scaled_dot_product_attention(q, torch.cat([c, k], 2), torch.cat([c, k], 2)), (r(1, 2, 1, 8), r(1, 2, 1, 8), r(1, 2, 1, 8)))
    yield "batch_one_norm", lambda: Case("", torch.nn.BatchNorm2d(3), (r(1, 3, 4, 4),))
    yield "batch_of_none", lambda: Case("", torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU()), (r(0, 3),))
    yield "index_negative", lambda: Case("", lambda x, i: (x[i], x.index_select(0, i.abs()), torch.take(x, i)), (r(4, 3), torch.tensor([-1, 2, -4])))
    yield "strided_input", lambda: Case("", lambda x: x * 2 + x.sum(0), (r(4, 6).t(),))
    yield "strided_step", lambda: Case("", lambda x: x.relu(), (r(4, 12)[:, ::2],))
    yield "expanded_input", lambda: Case("", lambda x: x.cumsum(0), (r(1, 4).expand(3, 4),))
