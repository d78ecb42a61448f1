"""Casts. Half-precision values here are exactly representable, so every way to hold them agrees."""
import torch

from stitchcuda_torch.cases.case import Case


def cases():
    generator = torch.Generator().manual_seed(117)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    x = 3 * normal(3, 5) + 0.01
    integers = torch.tensor([-300, -2, 0, 1, 70, 130])
    eighths = torch.tensor([0.125, -3.5, 2.0, 0.0, 100.0])
    truth = torch.tensor([True, False, True])
    table = {
        "float_to_long_truncates": (lambda x: x.long(), x),
        "float_to_int": (lambda x: x.to(torch.int32) * 2, x),
        "float_to_bool": (lambda x: x.bool(), torch.tensor([0.0, -0.0, 0.5, -2.0])),
        "float_to_uint8": (lambda x: x.to(torch.uint8), torch.tensor([0.5, 3.9, 200.2])),
        "float_to_half_and_back": (lambda x: x.half().to(x.dtype) + 1, eighths),
        "float_to_bfloat16_and_back": (lambda x: x.bfloat16().to(x.dtype) + 1, eighths),
        "float_to_double": (lambda x: x.double() * 2, x),
        "long_to_float": (lambda i: i.float(), integers),
        "long_to_int8_wraps": (lambda i: i.to(torch.int8), integers),
        "long_to_uint8_wraps": (lambda i: i.to(torch.uint8), integers),
        "long_to_bool": (lambda i: i.bool(), integers),
        "bool_to_float": (lambda t: t.float() * 2.5, truth),
        "bool_to_long": (lambda t: t.long() - 1, truth),
        "compare_then_float": (lambda x, y: (x > y).to(x.dtype) * x, x, normal(3, 5)),
        "type_as": (lambda i, x: i.type_as(x) + x, torch.tensor([1, 2, 3, 4, 5]), x),
        "to_other_tensor": (lambda i, x: i.to(x) * x, torch.tensor([1, 2, 3, 4, 5]), x),
        "to_device_and_dtype": (lambda x: x.to("cpu").to(device="cpu", dtype=x.dtype) * 2, x),
        "to_same_dtype_is_the_same": (lambda x: x.to(x.dtype) + x.type(x.dtype), x),
        "sum_dtype": (lambda t, x: t.sum(dtype=x.dtype) * x, truth, x),
        "mean_dtype_of_integers": (lambda i, x: i.mean(dtype=x.dtype) * x, integers, x),
        "softmax_dtype": (lambda x: torch.softmax(x, dim=-1, dtype=x.dtype), x),
        "prod_dtype": (lambda i, x: i.prod(dtype=x.dtype) + x, torch.tensor([2, 3, 4]), x),
        "detach_and_clone": (lambda x: x.detach().clone() * x, x),
        "floor_to_index": (lambda x, table: table[x.floor().long().clamp(0, 3)], x, normal(4, 2)),
        "rounded_with_straight_through": (lambda x: x + (torch.round(x) - x).detach(), x),
    }
    for name, (run, *inputs) in table.items():
        yield Case(f"cast_{name}", run, tuple(inputs))
