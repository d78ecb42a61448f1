"""Reductions: values, indices, ties, NaN, empty and rank-0 tensors, norms."""
import math

import torch
from torch.nn import functional as F

from stitchcuda_torch.cases.case import Case

NAN, INF = math.nan, math.inf


def cases():
    generator = torch.Generator().manual_seed(103)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    x = normal(3, 5, 4)
    integers = torch.tensor([[3, -1, 4], [1, -5, 9]])
    truth = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    ties = torch.tensor([[2.0, 5.0, 5.0, 1.0], [3.0, 3.0, 0.0, 3.0], [1.0, 1.0, 1.0, 1.0]])
    with_nan = torch.tensor([[1.0, NAN, 3.0, NAN], [INF, 2.0, -INF, 0.0], [-1.0, -2.0, -3.0, NAN]])
    point = torch.tensor(-1.5)
    empty = torch.zeros(0, 3)
    table = {
        "sum": (torch.sum, x),
        "sum_dim": (lambda x: x.sum(1), x),
        "sum_dim_keepdim": (lambda x: x.sum(1, keepdim=True), x),
        "sum_two_dims": (lambda x: x.sum((0, -1)), x),
        "sum_negative_dim": (lambda x: x.sum(-2), x),
        "sum_empty_list_of_dims": (lambda x: torch.sum(x, dim=[]), x),
        "sum_of_bool_is_integer": (torch.sum, truth),
        "sum_of_bool_dim": (lambda t: t.sum(0), truth),
        "sum_of_int32_is_int64": (lambda i: i.sum(-1), integers.to(torch.int32)),
        "sum_of_empty": (lambda x: (x.sum(), x.sum(0), x.sum(1)), empty),
        "sum_of_rank_zero": (lambda x: (x.sum(), x.sum(0), x.sum(-1, keepdim=True)), point),
        "sum_of_transposed": (lambda x: x.transpose(0, 2).sum(0), x),
        "sum_long_row": (lambda x: x.sum(-1), normal(2, 4099)),
        "nansum": (lambda x: torch.nansum(x[0]), with_nan),
        "mean": (torch.mean, x),
        "mean_dim": (lambda x: x.mean(-1), x),
        "mean_two_dims_keepdim": (lambda x: torch.mean(x, dim=[2, 0], keepdim=True), x),
        "mean_of_empty_is_nan": (torch.mean, empty),
        "prod": (torch.prod, x[:2]),
        "prod_dim_keepdim": (lambda x: torch.prod(x, dim=1, keepdim=True), x),
        "prod_of_empty": (lambda x: (x.prod(), x.prod(dim=0)), empty),
        "prod_integers": (lambda i: i.prod(1), integers),
        "max_all": (torch.max, x),
        "min_all": (torch.min, x),
        "max_dim": (lambda x: torch.max(x, dim=1), x),
        "max_dim_keepdim": (lambda x: torch.max(x, dim=-1, keepdim=True), x),
        "min_dim": (lambda x: torch.min(x, dim=0), x),
        "min_dim_keepdim": (lambda x: torch.min(x, dim=1, keepdim=True), x),
        "max_dim_first_of_ties": (lambda x: torch.max(x, dim=1), ties),
        "min_dim_first_of_ties": (lambda x: torch.min(x, dim=1), ties),
        "max_dim_nan_wins": (lambda x: torch.max(x, dim=1), with_nan),
        "min_dim_nan_wins": (lambda x: torch.min(x, dim=1), with_nan),
        "max_dim_of_rank_zero": (lambda x: torch.max(x, dim=0), point),
        "max_dim_integers": (lambda i: i.max(dim=1), integers),
        "max_over_full_dim_beside_empty": (lambda x: torch.max(x, dim=1), empty),
        "amax": (torch.amax, x),
        "amax_two_dims": (lambda x: torch.amax(x, dim=(0, 2)), x),
        "amin_two_dims_keepdim": (lambda x: torch.amin(x, dim=(-1, 0), keepdim=True), x),
        "amax_amin_nan_wins": (lambda x: (x.amax(1), x.amin(1)), with_nan),
        "aminmax_dim": (lambda x: torch.aminmax(x, dim=1), x),
        "argmax_all": (torch.argmax, x),
        "argmax_dim": (lambda x: torch.argmax(x, dim=1), x),
        "argmax_keepdim": (lambda x: torch.argmax(x, dim=-1, keepdim=True), x),
        "argmin_all": (torch.argmin, x),
        "argmin_dim": (lambda x: torch.argmin(x, dim=0), x),
        "argmax_argmin_first_of_ties": (lambda x: (x.argmax(1), x.argmin(1)), ties),
        "argmax_argmin_nan_wins": (lambda x: (x.argmax(1), x.argmin(1)), with_nan),
        "argmax_integers": (lambda i: i.argmax(dim=0), integers),
        "argmax_of_transposed": (lambda x: x.t().argmax(0), normal(5, 4)),
        "median_dim": (lambda x: torch.median(x, dim=-1), normal(3, 7)),
        "any_all": (lambda t: (t.any(), t.all()), truth),
        "any_all_dim": (lambda t: (t.any(1), t.all(1, keepdim=True)), truth),
        "any_of_floats": (lambda x: (torch.any(x > 1.0, dim=0), torch.all(x, dim=1)), ties),
        "any_all_of_empty": (lambda x: (x.any(), x.all(), x.any(0), x.all(0)), empty),
        "count_nonzero": (torch.count_nonzero, torch.tensor([[0.0, 2.0], [-1.0, 0.0]])),
        "count_nonzero_dim": (lambda x: torch.count_nonzero(x, dim=1), torch.tensor([[0.0, 2.0], [-1.0, 3.0]])),
        "var": (torch.var, x),
        "var_dim": (lambda x: x.var(dim=1), x),
        "var_biased": (lambda x: x.var(dim=-1, unbiased=False, keepdim=True), x),
        "var_correction_two": (lambda x: torch.var(x, dim=(0, 1), correction=2), x),
        "std": (torch.std, x),
        "std_dim_keepdim": (lambda x: torch.std(x, dim=1, keepdim=True), x),
        "std_correction_zero": (lambda x: torch.std(x, dim=-1, correction=0), x),
        "var_mean": (lambda x: torch.var_mean(x, dim=1, correction=0), x),
        "std_mean": (lambda x: torch.std_mean(x, dim=(1, 2)), x),
        "var_of_one_biased_is_zero": (lambda x: x.var(dim=1, unbiased=False), normal(3, 1)),
        "logsumexp": (lambda x: torch.logsumexp(x, dim=1), x),
        "logsumexp_keepdim_two_dims": (lambda x: torch.logsumexp(x, dim=(1, 2), keepdim=True), x),
        "logsumexp_of_large": (lambda x: torch.logsumexp(100 * x, dim=-1), x),
        "logsumexp_of_minus_infinity": (lambda x: torch.logsumexp(x, dim=1), torch.tensor([[-INF, -INF], [-INF, 1.0], [INF, 2.0]])),
        "norm": (torch.norm, x),
        "norm_one": (lambda x: torch.norm(x, p=1, dim=1), x),
        "norm_two_keepdim": (lambda x: torch.norm(x, p=2, dim=1, keepdim=True), x),
        "norm_frobenius": (lambda x: torch.norm(x, p="fro"), x),
        "norm_frobenius_dims": (lambda x: torch.norm(x, p="fro", dim=(1, 2)), x),
        "vector_norm_one": (lambda x: torch.linalg.vector_norm(x, ord=1, dim=-1), x),
        "vector_norm_two": (lambda x: torch.linalg.vector_norm(x, dim=(0, 2)), x),
        "vector_norm_three": (lambda x: torch.linalg.vector_norm(x, ord=3, dim=0), x),
        "vector_norm_infinity": (lambda x: torch.linalg.vector_norm(x, ord=INF, dim=1), x),
        "vector_norm_minus_infinity": (lambda x: torch.linalg.vector_norm(x, ord=-INF, dim=1), x),
        "vector_norm_zero": (lambda x: torch.linalg.vector_norm(x, ord=0, dim=1), ties.relu() * (ties > 1)),
        "vector_norm_half": (lambda x: torch.linalg.vector_norm(x, ord=0.5, dim=1), x),
        "matrix_norm_frobenius": (lambda x: torch.linalg.matrix_norm(x), x),
        "matrix_norms": (lambda x: tuple(torch.linalg.matrix_norm(x, order, keepdim=order > 0) for order in (1, -1, torch.inf, -torch.inf)) + (
            torch.linalg.norm(x[0], "fro"), torch.linalg.norm(x[0], 1), torch.linalg.norm(x, torch.inf, dim=(0, 2))), x),
        "linalg_norm_flat": (lambda x: torch.linalg.norm(x), x),
        "normalize": (F.normalize, x),
        "normalize_last_dim": (lambda x: F.normalize(x, dim=-1), x),
        "normalize_one": (lambda x: F.normalize(x, p=1, dim=0), x),
        "normalize_of_zero_row": (lambda x: F.normalize(x, dim=1, eps=1e-6), torch.tensor([[0.0, 0.0], [3.0, 4.0]])),
        "cosine_similarity": (lambda x, y: F.cosine_similarity(x, y, dim=1), normal(3, 5), normal(3, 5)),
        "pairwise_distance": (lambda x, y: F.pairwise_distance(x, y), normal(3, 5), normal(3, 5)),
        "pairwise_distance_one_keepdim": (lambda x, y: F.pairwise_distance(x, y, p=1.0, keepdim=True), normal(3, 5), normal(3, 5)),
        "dist": (lambda x, y: torch.dist(x, y, 2), normal(3, 5), normal(3, 5)),
        "trace": (torch.trace, normal(4, 5)),
        "mean_then_subtract_then_square": (lambda x: (x - x.mean(1, keepdim=True)).pow(2).mean(1), x),
        "global_average_of_images": (lambda x: x.mean(dim=[2, 3]), normal(2, 3, 5, 7)),
    }
    for name, (run, *inputs) in table.items():
        yield Case(f"reduce_{name}", run, tuple(inputs))
