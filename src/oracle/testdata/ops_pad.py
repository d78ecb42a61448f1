"""Padding: constant with negative amounts, reflect, replicate, circular."""
import torch
from torch import nn
from torch.nn import functional as F

from stitchcuda_torch.cases.case import Case


def cases():
    generator = torch.Generator().manual_seed(115)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    signal, image, volume = normal(2, 3, 7), normal(2, 3, 5, 6), normal(1, 2, 4, 5, 3)
    table = {
        "zero_last_dim": (lambda x: F.pad(x, (1, 2)), image),
        "zero_two_dims": (lambda x: F.pad(x, (1, 2, 3, 0)), image),
        "zero_all_dims": (lambda x: F.pad(x, (0, 1, 2, 0, 1, 1, 0, 3)), image),
        "constant": (lambda x: F.pad(x, (2, 1), value=-1.5), signal),
        "constant_minus_infinity": (lambda x: F.pad(x, (1, 1, 1, 1), value=float("-inf")), image),
        "negative_crops": (lambda x: F.pad(x, (-1, -2)), signal),
        "negative_and_positive": (lambda x: F.pad(x, (-1, 2, 1, -2)), image),
        "nothing": (lambda x: F.pad(x, (0, 0)), signal),
        "integers": (lambda i: F.pad(i, (1, 0), value=7), torch.tensor([[1, 2], [3, 4]])),
        "bool": (lambda t: F.pad(t, (1, 1), value=True), torch.tensor([True, False])),
        "empty_dim": (lambda x: F.pad(x, (2, 1)), torch.zeros(3, 0)),
        "reflect_1d": (lambda x: F.pad(x, (3, 2), mode="reflect"), signal),
        "reflect_2d": (lambda x: F.pad(x, (1, 2, 3, 0), mode="reflect"), image),
        "reflect_3d": (lambda x: F.pad(x, (1, 2, 3, 0, 1, 1), mode="reflect"), volume),
        "replicate_1d": (lambda x: F.pad(x, (3, 9), mode="replicate"), signal),
        "replicate_2d": (lambda x: F.pad(x, (1, 2, 7, 0), mode="replicate"), image),
        "replicate_3d": (lambda x: F.pad(x, (1, 2, 3, 0, 1, 1), mode="replicate"), volume),
        "circular_1d": (lambda x: F.pad(x, (3, 2), mode="circular"), signal),
        "circular_2d": (lambda x: F.pad(x, (1, 2, 3, 0), mode="circular"), image),
        "circular_3d": (lambda x: F.pad(x, (1, 2, 3, 0, 1, 1), mode="circular"), volume),
        "reflect_without_batch": (lambda x: F.pad(x, (1, 1, 2, 2), mode="reflect"), image[0]),
        "zero_module": (nn.ZeroPad2d((1, 2, 0, 3)), image),
        "constant_module": (nn.ConstantPad1d((2, 0), 3.5), signal),
        "reflection_module": (nn.ReflectionPad2d(2), image),
        "replication_module": (nn.ReplicationPad3d(1), volume),
        "circular_module": (nn.CircularPad2d((1, 0, 2, 1)), image),
        "shift_by_pad_and_crop": (lambda x: F.pad(x, (1, 0))[..., :-1] + F.pad(x, (0, 1))[..., 1:], signal),
        "to_multiple_then_windows": (lambda x: F.pad(x, (0, 2, 0, 1)).view(2, 3, 3, 2, 4, 2).amax((3, 5)), image),
    }
    for name, (run, *inputs) in table.items():
        yield Case(f"pad_{name}", run, tuple(inputs))
