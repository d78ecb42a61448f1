"""Pointwise operators of one, two and three operands, with the special values where PyTorch defines the result."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from stitchcuda_torch.cases.case import Case

NAN, INF = math.nan, math.inf


def cases():
    generator = torch.Generator().manual_seed(101)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    def uniform(low, high, *shape):
        return low + (high - low) * torch.rand(shape, generator=generator)

    torch.manual_seed(101)
    x, y = 2 * normal(3, 7), 2 * normal(3, 7)
    positive = uniform(0.2, 3.0, 3, 7)
    unit = uniform(-0.95, 0.95, 3, 7)
    special = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1.25, -2.75])
    other = torch.tensor([1.0, 2.0, NAN, INF, 3.0, NAN, -2.75])
    integers = torch.tensor([-7, -5, -3, -1, 0, 2, 4, 7, 9])
    divisors = torch.tensor([2, -2, 3, -4, 5, -3, 4, -2, -4])
    bits = torch.tensor([0b1100, 0b1010, 7, -1, -6, 0])
    more_bits = torch.tensor([0b0110, 0b0011, 2, 5, 3, 9])
    truth = torch.tensor([True, False, True, False])
    more_truth = torch.tensor([True, True, False, False])
    halves = torch.tensor([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 0.25, -0.75, 4.0])

    table = {
        # Signs, roots, exponentials, logarithms.
        "abs": (torch.abs, x),
        "neg": (torch.neg, x),
        "sign": (torch.sign, torch.tensor([-3.0, -0.0, 0.0, 2.0])),
        "sgn": (torch.sgn, x),
        "sqrt": (torch.sqrt, positive),
        "rsqrt": (torch.rsqrt, positive),
        "reciprocal": (torch.reciprocal, positive),
        "square": (torch.square, x),
        "exp": (torch.exp, x),
        "exp2": (torch.exp2, x),
        "expm1": (torch.expm1, 0.01 * x),
        "log": (torch.log, positive),
        "log_of_zero_and_negative": (torch.log, torch.tensor([0.0, -1.0, INF, 1.0])),
        "log1p": (torch.log1p, 0.01 * positive),
        "log2": (torch.log2, positive),
        "log10": (torch.log10, positive),
        "sqrt_of_perfect_square_integers": (torch.sqrt, torch.tensor([0, 1, 4, 49, 144])),
        # Trigonometric and hyperbolic.
        "sin": (torch.sin, x),
        "cos": (torch.cos, x),
        "tan": (torch.tan, unit),
        "asin": (torch.asin, unit),
        "acos": (torch.acos, unit),
        "atan": (torch.atan, x),
        "sinh": (torch.sinh, x),
        "cosh": (torch.cosh, x),
        "tanh": (torch.tanh, x),
        "asinh": (torch.asinh, x),
        "acosh": (lambda x: torch.acosh(x + 1.5), positive),
        "atanh": (torch.atanh, unit),
        "sinc": (torch.sinc, x),
        "deg2rad_rad2deg": (lambda x: torch.rad2deg(x) + torch.deg2rad(x), x),
        # Special functions.
        "erf": (torch.erf, x),
        "erfc": (torch.erfc, x),
        "logit": (torch.logit, uniform(0.05, 0.95, 3, 7)),
        "logit_eps": (lambda x: torch.logit(x, eps=0.1), uniform(0.0, 1.0, 3, 7)),
        "xlogy": (torch.xlogy, torch.tensor([0.0, 0.0, 1.5, 2.0]), torch.tensor([0.0, 3.0, 0.7, 1.9])),
        # Rounding. Halves go to even.
        "round_half_to_even": (torch.round, halves),
        "round_decimals": (lambda x: torch.round(x, decimals=2), uniform(-4, 4, 3, 7)),
        "floor": (torch.floor, halves),
        "ceil": (torch.ceil, halves),
        "trunc": (torch.trunc, halves),
        "frac": (torch.frac, halves),
        # Activations.
        "relu": (torch.relu, x),
        "relu_of_nan_and_inf": (torch.relu, special),
        "relu6": (F.relu6, 4 * x),
        "leaky_relu": (F.leaky_relu, x),
        "leaky_relu_slope": (lambda x: F.leaky_relu(x, 0.3), x),
        "prelu_one_slope": (nn.PReLU(init=0.3), x),
        "prelu_slope_of_each_channel": (lambda x, slope: F.prelu(x, slope), normal(2, 3, 4), normal(3)),
        "elu": (F.elu, x),
        "elu_alpha": (lambda x: F.elu(x, alpha=0.4), x),
        "selu": (F.selu, x),
        "celu_alpha": (lambda x: F.celu(x, alpha=1.7), x),
        "gelu": (F.gelu, x),
        "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), x),
        "silu": (F.silu, x),
        "mish": (F.mish, x),
        "softplus": (F.softplus, x),
        "softplus_beta_threshold": (lambda x: F.softplus(x, beta=3.0, threshold=2.0), x),
        "softplus_of_large": (F.softplus, torch.tensor([19.5, 20.5, 60.0, -40.0])),
        "sigmoid": (torch.sigmoid, x),
        "sigmoid_of_large": (torch.sigmoid, torch.tensor([-80.0, -30.0, 40.0, INF, -INF])),
        "logsigmoid": (F.logsigmoid, 5 * x),
        "tanh_of_large": (torch.tanh, torch.tensor([-50.0, 25.0, INF, -INF])),
        "softsign": (F.softsign, x),
        "tanhshrink": (F.tanhshrink, x),
        "hardtanh": (F.hardtanh, x),
        "hardtanh_bounds": (lambda x: F.hardtanh(x, -0.3, 1.7), x),
        "hardsigmoid": (F.hardsigmoid, 2 * x),
        "hardswish": (F.hardswish, 2 * x),
        "hardshrink": (lambda x: F.hardshrink(x, 0.8), x),
        "softshrink": (lambda x: F.softshrink(x, 0.8), x),
        "threshold": (lambda x: F.threshold(x, 0.1, -7.0), x),
        "glu_last_dim": (F.glu, normal(3, 8)),
        "glu_first_dim": (lambda x: F.glu(x, dim=0), normal(4, 5)),
        # Clamping and special values.
        "clamp_both": (lambda x: torch.clamp(x, -0.5, 1.25), x),
        "clamp_min_only": (lambda x: torch.clamp(x, min=0.5), x),
        "clamp_max_only": (lambda x: torch.clamp(x, max=0.5), x),
        "clamp_min_above_max": (lambda x: torch.clamp(x, 2.0, -1.0), x),
        "clamp_min_max_functions": (lambda x: torch.clamp_max(torch.clamp_min(x, -1.0), 1.0), x),
        "clamp_tensors": (lambda x, low, high: torch.clamp(x, low, high), x, normal(7) - 1, normal(3, 1) + 1),
        "clamp_max_tensor": (lambda x, high: torch.clamp(x, max=high), x, torch.tensor(0.3)),
        "clamp_keeps_nan": (lambda x: torch.clamp(x, -1.0, 1.0), special),
        "clamp_integers": (lambda i: torch.clamp(i, -3, 4), integers),
        "nan_to_num": (torch.nan_to_num, torch.tensor([NAN, 1.5, -2.0])),
        "nan_to_num_values": (lambda x: torch.nan_to_num(x, nan=0.5, posinf=9.0, neginf=-8.0), special),
        "isnan": (torch.isnan, special),
        "isinf": (torch.isinf, special),
        "isfinite": (torch.isfinite, special),
        "isposinf_isneginf": (lambda x: (torch.isposinf(x), torch.isneginf(x)), special),
        "signbit": (torch.signbit, torch.tensor([-2.0, 3.0, 0.5])),
        # Arithmetic of two tensors.
        "add_alpha": (lambda x, y: torch.add(x, y, alpha=-0.7), x, y),
        "sub_alpha": (lambda x, y: torch.sub(x, y, alpha=2.5), x, y),
        "rsub_scalar": (lambda x: 1 - x, x),
        "rsub_tensor_alpha": (lambda x, y: torch.rsub(x, y, alpha=3), x, y),
        "multiply": (torch.multiply, x, y),
        "scalar_on_both_sides": (lambda x: 2.5 * x + 1.5 - x * 3 + (-1) * x, x),
        "div": (lambda x, y: x / y, x, positive),
        "div_by_zero": (lambda x: x / 0.0, torch.tensor([1.0, -1.0, 0.0])),
        "scalar_divided_by_tensor": (lambda x: 3.5 / x, positive),
        "div_floor_mode": (lambda x, y: torch.div(x, y, rounding_mode="floor"), x, positive),
        "div_trunc_mode": (lambda x, y: torch.div(x, y, rounding_mode="trunc"), x, positive),
        "floor_divide_floats": (lambda x: x // 0.7, x),
        "remainder_floats": (lambda x, y: torch.remainder(x, y), x, y),
        "remainder_scalar": (lambda x: x % 0.75, x),
        "remainder_of_scalar_base": (lambda x: torch.remainder(5.0, x), positive),
        "fmod_floats": (torch.fmod, x, y),
        "fmod_scalar": (lambda x: torch.fmod(x, -0.75), x),
        "maximum_minimum": (lambda x, y: (torch.maximum(x, y), torch.minimum(x, y)), x, y),
        "maximum_minimum_with_nan": (lambda x, y: (torch.maximum(x, y), torch.minimum(x, y)), special, other),
        "fmax_fmin_with_nan": (lambda x, y: (torch.fmax(x, y), torch.fmin(x, y)), special, other),
        "max_other_min_other": (lambda x, y: (torch.max(x, y), torch.min(x, y)), x, y),
        "hypot": (torch.hypot, x, y),
        "atan2": (torch.atan2, x, y),
        "atan2_on_the_axes": (torch.atan2, torch.tensor([0.0, 0.0, 1.0, -1.0]), torch.tensor([1.0, -1.0, 0.0, 0.0])),
        "copysign": (torch.copysign, x, y),
        "logaddexp": (torch.logaddexp, x, y),
        "logaddexp2": (torch.logaddexp2, x, y),
        "heaviside": (torch.heaviside, torch.tensor([-1.0, 0.0, 2.0]), torch.tensor([5.0, 0.25, 7.0])),
        # Powers.
        "pow_square": (lambda x: x**2, x),
        "pow_cube": (lambda x: torch.pow(x, 3), x),
        "pow_seven": (lambda x: x**7, x),
        "pow_zero": (lambda x: x**0, x),
        "pow_minus_one": (lambda x: x**-1, positive),
        "pow_minus_two": (lambda x: x**-2, positive),
        "pow_half": (lambda x: x**0.5, positive),
        "pow_minus_half": (lambda x: x**-0.5, positive),
        "pow_fraction": (lambda x: x**1.7, positive),
        "pow_tensor_exponent": (torch.pow, positive, y),
        "pow_scalar_base": (lambda x: 2.5**x, x),
        "pow_negative_base_integer_exponent": (lambda x: x**3.0, -positive),
        "pow_integers": (lambda i: i**3, integers),
        "float_power_of_exact_integers": (lambda i: torch.float_power(i, 2), integers),
        # Ternary.
        "lerp_scalar": (lambda x, y: torch.lerp(x, y, 0.3), x, y),
        "lerp_tensor": (torch.lerp, x, y, uniform(0, 1, 3, 7)),
        "addcmul": (lambda x, y, z: torch.addcmul(x, y, z, value=0.7), x, y, positive),
        "addcdiv": (lambda x, y, z: torch.addcdiv(x, y, z, value=-0.7), x, y, positive),
        # Integers.
        "integer_floor_divide": (lambda i, j: i // j, integers, divisors),
        "integer_floor_divide_scalar": (lambda i: i // 4, integers),
        "integer_floor_divide_negative_scalar": (lambda i: i // -4, integers),
        "integer_div_trunc": (lambda i, j: torch.div(i, j, rounding_mode="trunc"), integers, divisors),
        "integer_div_floor": (lambda i, j: torch.div(i, j, rounding_mode="floor"), integers, divisors),
        "integer_remainder": (lambda i, j: i % j, integers, divisors),
        "integer_remainder_scalar": (lambda i: i % 4, integers),
        "integer_fmod": (torch.fmod, integers, divisors),
        "integer_true_divide_exact": (lambda i: i / 4, integers),
        "integer_abs_sign_neg": (lambda i: (i.abs(), i.sign(), -i), integers),
        "integer_maximum_minimum": (lambda i, j: (torch.maximum(i, j), torch.minimum(i, j)), integers, divisors),
        "integer_relu_clamp": (lambda i: torch.relu(i) + i.clamp(max=2), integers),
        # Bits and truth.
        "bitwise_and_or_xor": (lambda i, j: (i & j, i | j, i ^ j), bits, more_bits),
        "bitwise_with_scalar": (lambda i: (i & 6, i | 1, i ^ 3), bits),
        "bitwise_not_integers": (lambda i: ~i, bits),
        "bitwise_not_bool": (lambda t: ~t, truth),
        "shift_left_right": (lambda i: (i << 3, i >> 1), bits),
        "shift_by_tensor": (lambda i, j: (i << (j & 3), i >> (j & 3)), bits, more_bits),
        "bitwise_bool": (lambda s, t: (s & t, s | t, s ^ t), truth, more_truth),
        "logical_ops_bool": (lambda s, t: (torch.logical_and(s, t), torch.logical_or(s, t), torch.logical_xor(s, t), torch.logical_not(s)), truth, more_truth),
        "logical_ops_floats": (lambda x, y: (torch.logical_and(x, y), torch.logical_or(x, y), torch.logical_not(x)), special, other),
        # Comparisons.
        "compare_tensors": (lambda x, y: (x < y, x <= y, x > y, x >= y, x == y, x != y), x.round(), y.round()),
        "compare_scalar": (lambda x: (x < 1, x <= 1, x > 1, x >= 1, x == 1, x != 1), x.round()),
        "compare_with_nan": (lambda x, y: (x < y, x <= y, x > y, x >= y, x == y, x != y), special, other),
        "compare_integers_with_fraction": (lambda i: (i < 2.5, i >= -0.5), integers),
        "isclose": (lambda x, y: torch.isclose(x, y, rtol=0.1, atol=0.01), torch.tensor([1.0, 2.0, 3.0, NAN]), torch.tensor([1.05, 2.5, 3.0, NAN])),
        # Selection.
        "where": (lambda x, y: torch.where(x > y, x, y), x, y),
        "where_scalars": (lambda x: torch.where(x > 0, x, -0.5), x),
        "where_both_scalars": (lambda x: x * torch.where(x > 0, 1, -1), x),
        "where_nan_is_not_chosen": (lambda x: torch.where(x > 0, torch.log(x), torch.zeros_like(x)), x),
        "where_drops_nan": (lambda x: torch.where(torch.isnan(x), torch.zeros_like(x), x), special),
        # Ranks and sizes.
        "rank_zero": (lambda x, y: torch.exp(x) * y + 2, torch.tensor(0.7), torch.tensor(-1.3)),
        "empty": (lambda x, y: torch.relu(x) + y, torch.zeros(0, 3), torch.zeros(0, 3)),
        "not_contiguous": (lambda x, y: torch.tanh(x) * y, normal(7, 3).t(), normal(3, 7)),
        "rank_six": (lambda x: torch.sigmoid(x) * x, normal(2, 1, 3, 1, 2, 2)),
        "polar_gate_chain": (lambda x, y: torch.sigmoid(x) * torch.tanh(y) + (1 - torch.sigmoid(x)) * x, x, y),
        "newton_tanh_gelu_by_hand": (lambda x: 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0)))), x),
    }
    for name, (run, *inputs) in table.items():
        yield Case(name, run, tuple(inputs))
    yield Case("rrelu_eval", nn.RReLU(0.1, 0.5), (x,), eval=True)
