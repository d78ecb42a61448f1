"""F.interpolate in every mode, by size and by factor, with corners aligned and not."""
import torch
from torch import nn
from torch.nn import functional as F

from stitchcuda_torch.cases.case import Case


def resize(mode, **options):
    return lambda x: F.interpolate(x, mode=mode, **options)


def cases():
    generator = torch.Generator().manual_seed(116)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    torch.manual_seed(116)
    signal, image, volume = normal(2, 3, 7), normal(2, 3, 5, 6), normal(1, 2, 3, 4, 5)
    table = {
        "nearest_double": (resize("nearest", scale_factor=2), image),
        "nearest_size": (resize("nearest", size=(8, 11)), image),
        "nearest_smaller": (resize("nearest", size=(3, 4)), image),
        "nearest_fraction": (resize("nearest", scale_factor=(1.7, 0.6)), image),
        "nearest_fraction_recomputed": (resize("nearest", scale_factor=1.7, recompute_scale_factor=True), image),
        "nearest_1d": (resize("nearest", size=12), signal),
        "nearest_3d": (resize("nearest", scale_factor=(2, 1, 3)), volume),
        "nearest_exact": (resize("nearest-exact", size=(8, 4)), image),
        "nearest_exact_1d": (resize("nearest-exact", scale_factor=1.5), signal),
        "nearest_exact_3d": (resize("nearest-exact", size=(5, 3, 7)), volume),
        "linear": (resize("linear", size=11), signal),
        "linear_aligned": (resize("linear", size=11, align_corners=True), signal),
        "linear_scale": (resize("linear", scale_factor=2.5), signal),
        "bilinear_double": (resize("bilinear", scale_factor=2), image),
        "bilinear_double_aligned": (resize("bilinear", scale_factor=2, align_corners=True), image),
        "bilinear_size": (resize("bilinear", size=(9, 4)), image),
        "bilinear_size_aligned": (resize("bilinear", size=(9, 4), align_corners=True), image),
        "bilinear_fraction": (resize("bilinear", scale_factor=(1.3, 0.7)), image),
        "bilinear_to_one_aligned": (resize("bilinear", size=(1, 1), align_corners=True), image),
        "bilinear_from_one": (resize("bilinear", size=(3, 4)), normal(2, 3, 1, 1)),
        "bicubic": (resize("bicubic", size=(9, 8)), image),
        "bicubic_aligned": (resize("bicubic", size=(9, 8), align_corners=True), image),
        "bicubic_smaller_by_factor": (resize("bicubic", scale_factor=0.6), image),
        "trilinear": (resize("trilinear", size=(5, 6, 4)), volume),
        "trilinear_aligned": (resize("trilinear", scale_factor=2, align_corners=True), volume),
        "area": (resize("area", size=(3, 4)), image),
        "upsample_module": (nn.Upsample(scale_factor=2), image),
        "upsample_module_bilinear": (nn.Upsample(size=(7, 7), mode="bilinear", align_corners=True), image),
        "upsample_then_conv": (nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear"), nn.Conv2d(3, 2, 3, padding=1)), image),
        "upsample_and_add_lateral": (lambda small, large: F.interpolate(small, size=large.shape[-2:], mode="nearest") + large, image, normal(2, 3, 10, 12)),
        "position_table": (lambda table: F.interpolate(table.reshape(1, 3, 3, 4).permute(0, 3, 1, 2), size=(5, 4), mode="bicubic").flatten(2).transpose(1, 2), normal(1, 9, 4)),
    }
    for name, (run, *inputs) in table.items():
        yield Case(f"resize_{name}", run, tuple(inputs))
