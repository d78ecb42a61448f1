"""Tensors made inside forward. Dtypes follow the input, so float64 stays float64."""
import torch
from torch.nn import functional as F

from stitchcuda_torch.cases.case import Case


def triangle_of_indices(x):
    rows, columns = torch.tril_indices(4, 4, -1).unbind(0)
    return x[rows, columns]


def cases():
    generator = torch.Generator().manual_seed(119)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    x = normal(3, 4)
    table = {
        "arange": (lambda x: x + torch.arange(4), x),
        "arange_start_step": (lambda x: torch.arange(2, 14, 3) * x, x),
        "arange_backwards": (lambda x: torch.arange(4, 0, -1) * x, x),
        "arange_float": (lambda x: torch.arange(0.5, 2.5, 0.5, dtype=x.dtype) * x, x),
        "arange_rows_and_columns": (lambda x: x * (torch.arange(3)[:, None] <= torch.arange(4)[None, :]), x),
        "linspace": (lambda x: torch.linspace(-1, 2, 4, dtype=x.dtype) * x, x),
        "linspace_one_step": (lambda x: torch.linspace(0.25, 1, 1, dtype=x.dtype) + x, x),
        "linspace_seven": (lambda x: torch.linspace(0, 1, 7, dtype=x.dtype) + x.sum(), x),
        "logspace": (lambda x: torch.logspace(0, -2, 4, dtype=x.dtype) * x, x),
        "zeros_and_ones": (lambda x: x * torch.ones(3, 1, dtype=x.dtype) + torch.zeros(4, dtype=x.dtype), x),
        "full": (lambda x: x + torch.full((3, 1), 2.5, dtype=x.dtype), x),
        "full_integers": (lambda x: x * torch.full((4,), 3), x),
        "full_bool": (lambda x: x.masked_fill(torch.full((3, 4), True), 1.0), x),
        "full_minus_infinity_triu": (lambda x: x + torch.triu(torch.full((3, 4), float("-inf"), dtype=x.dtype), 1), x),
        "eye": (lambda x: torch.eye(3, dtype=x.dtype) @ x, x),
        "eye_rectangular": (lambda x: torch.eye(3, 4, dtype=x.dtype) + x, x),
        "likes": (lambda x: (torch.zeros_like(x), torch.ones_like(x), torch.full_like(x, 0.75)), x),
        "ones_like_bool": (lambda x: torch.ones_like(x, dtype=torch.bool), x),
        "empty_like_filled": (lambda x: torch.empty_like(x).fill_(1.5) * x, x),
        "empty_zeroed": (lambda x: torch.empty(3, 4, dtype=x.dtype).zero_() + x, x),
        "new_tensors": (lambda x: x + x.new_zeros(4) + x.new_ones(3, 1) + x.new_full((3, 4), 0.5), x),
        "tensor_of_list": (lambda x: x * torch.tensor([1, 0, 2, 3]), x),
        "tensor_of_number": (lambda x: torch.min(x, torch.tensor(0.25, dtype=x.dtype)), x),
        "tensor_of_number_default_dtype": (lambda x: torch.min(x, torch.tensor(0.25)) + torch.tensor(2.0), x),
        "tensor_of_fractions": (lambda x: x * torch.tensor([0.5, 0.25, 2.0, -1.0]), x),
        "scalar_tensor_as_limit": (lambda x: torch.clamp(x, max=torch.tensor(0.5)), x),
        "tril_of_ones": (lambda x: x * torch.tril(torch.ones(3, 4, dtype=x.dtype)), x),
        "tril_indices": (triangle_of_indices, normal(4, 4)),
        "meshgrid_of_arange": (lambda x: x * torch.stack(torch.meshgrid(torch.arange(3), torch.arange(4), indexing="ij")), x),
        "relative_coordinates": (lambda x: x + (torch.arange(4)[None, :] - torch.arange(3)[:, None]).abs(), x),
        "length_from_shape": (lambda x: x / x.size(1) + x.shape[0] + x.numel() + x.dim(), x),
        "random_times_zero": (lambda x: x + 0 * torch.randn(3, 4, dtype=x.dtype), x),
        "dropout_of_probability_zero": (lambda x: F.dropout(x, p=0.0, training=True), x),
        "dropout_not_training": (lambda x: F.dropout(x, p=0.5, training=False), x),
        "constant_output": (lambda x: (x + 1, torch.arange(5)), x),
        "vander_by_hand": (lambda x: x.unsqueeze(-1) ** torch.arange(4), x),
        "sinusoidal_positions": (lambda x: x + torch.sin(torch.arange(3, dtype=x.dtype)[:, None] / 10 ** (torch.arange(4, dtype=x.dtype) / 4)), x),
        "hann_window_by_hand": (lambda x: x * (0.5 - 0.5 * torch.cos(2 * torch.pi * torch.arange(4, dtype=x.dtype) / 4)), x),
    }
    for name, (run, *inputs) in table.items():
        yield Case(f"create_{name}", run, tuple(inputs))
