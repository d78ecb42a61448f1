"""Broadcasting and type promotion: which shape and which dtype a result has."""
import torch

from stitchcuda_torch.cases.case import Case


def cases():
    generator = torch.Generator().manual_seed(102)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    integers = torch.tensor([[-3, 0, 5], [7, 2, -1]])
    small = torch.tensor([1, 2, 3], dtype=torch.int32)
    truth = torch.tensor([[True, False, True], [False, False, True]])
    table = {
        "row_and_column": (lambda x, y: x + y, normal(3, 1), normal(1, 5)),
        "missing_leading_dims": (lambda x, y: x * y, normal(2, 3, 4), normal(4)),
        "ones_on_both_sides": (lambda x, y: x - y, normal(1, 3, 1, 5), normal(2, 1, 4, 1)),
        "rank_zero_with_matrix": (lambda x, y: x * y, torch.tensor(1.5), normal(2, 3)),
        "channel_bias": (lambda x, bias: x + bias, normal(2, 3, 4, 5), normal(3, 1, 1)),
        "one_with_empty": (lambda x, y: x + y, normal(1, 4), torch.zeros(0, 4)),
        "three_operands": (lambda x, y, z: torch.where(x > y, y, z), normal(3, 1), normal(4), normal(2, 1, 1)),
        "broadcast_tensors": (lambda x, y: torch.broadcast_tensors(x, y), normal(3, 1), normal(4)),
        "broadcast_to": (lambda x: torch.broadcast_to(x, (2, 3, 4)), normal(3, 1)),
        "expand_then_add": (lambda x, y: x.expand(-1, 5) + y, normal(3, 1), normal(3, 5)),
        "expand_as": (lambda x, y: x.expand_as(y) * y, normal(1, 5), normal(3, 5)),
        "expanded_input_of_matmul": (lambda x, y: x.expand(4, 2, 3) @ y, normal(1, 2, 3), normal(4, 3, 2)),
        "pairwise_difference": (lambda x, y: (x.unsqueeze(1) - y.unsqueeze(0)).abs().sum(-1), normal(4, 3), normal(5, 3)),
        "diagonal_times_matrix": (lambda d, m: torch.diag(d) @ m + d.unsqueeze(1) * m, normal(4), normal(4, 3)),
        "integer_plus_float": (lambda i, x: i + x, integers, normal(2, 3)),
        "integer_times_fraction": (lambda i: i * 0.5, integers),
        "integer_plus_python_integer": (lambda i: i + 2, integers),
        "int32_plus_int64": (lambda i, j: i + j, small, integers),
        "int32_stays_int32": (lambda i: i * 3, small),
        "rank_zero_int64_does_not_promote_int32": (lambda i, j: i + j, small, torch.tensor(4)),
        "rank_zero_float_promotes_integers": (lambda i, x: i * x, integers, torch.tensor(0.5)),
        "bool_mask_times_float": (lambda t, x: t * x, truth, normal(2, 3)),
        "bool_plus_bool": (lambda t: t + t, truth),
        "bool_plus_integer": (lambda t: t + 1, truth),
        "bool_plus_fraction": (lambda t: t + 0.5, truth),
        "one_minus_bool_as_float": (lambda t, x: 1.0 - t.to(x.dtype), truth, normal(2, 3)),
        "bool_times_int32": (lambda t, i: t * i, truth, small),
        "float_compare_integer": (lambda x, i: x > i, normal(2, 3), integers),
        "where_promotes": (lambda t, x, i: torch.where(t, x, i), truth, normal(2, 3), integers),
        "maximum_promotes": (lambda x, i: torch.maximum(x, i), normal(2, 3), integers),
        "cat_promotes": (lambda x, i: torch.cat([x, i], dim=1), normal(2, 3), integers),
        "pow_integer_tensor_of_float": (lambda x, i: torch.pow(x, i), normal(2, 3).abs() + 0.5, integers),
        "mean_of_bool_as_float": (lambda x, y: (x > y).to(x.dtype).mean(), normal(4, 4), normal(4, 4)),
        "transposed_both": (lambda x, y: x.t() + y.t(), normal(3, 5), normal(3, 5)),
    }
    for name, (run, *inputs) in table.items():
        yield Case(f"broadcast_{name}", run, tuple(inputs))
