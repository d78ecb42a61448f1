"""Transposed convolutions in one, two and three dimensions."""
import torch
from torch import nn
from torch.nn import functional as F

from stitchcuda_torch.cases.case import Case


def cases():
    generator = torch.Generator().manual_seed(107)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    torch.manual_seed(107)
    table = {
        "1d": (nn.ConvTranspose1d(3, 4, 3), normal(2, 3, 7)),
        "1d_stride_padding_output_padding": (nn.ConvTranspose1d(3, 4, 5, stride=3, padding=2, output_padding=1), normal(2, 3, 6)),
        "1d_dilation": (nn.ConvTranspose1d(3, 4, 3, stride=2, padding=1, dilation=3), normal(2, 3, 6)),
        "1d_groups": (nn.ConvTranspose1d(6, 4, 3, groups=2, bias=False), normal(2, 6, 5)),
        "1d_without_batch": (nn.ConvTranspose1d(3, 2, 4, stride=2), normal(3, 5)),
        "2d": (nn.ConvTranspose2d(3, 4, 3), normal(2, 3, 5, 6)),
        "2d_no_bias": (nn.ConvTranspose2d(3, 4, 3, bias=False), normal(2, 3, 5, 6)),
        "2d_upsample_by_two": (nn.ConvTranspose2d(4, 3, 2, stride=2), normal(2, 4, 3, 5)),
        "2d_stride_over_kernel": (nn.ConvTranspose2d(2, 3, 2, stride=3, output_padding=1), normal(1, 2, 4, 3)),
        "2d_decoder": (nn.ConvTranspose2d(4, 3, 4, stride=2, padding=1), normal(2, 4, 4, 5)),
        "2d_output_padding": (nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1), normal(2, 3, 4, 5)),
        "2d_asymmetric": (nn.ConvTranspose2d(2, 3, (3, 5), stride=(2, 3), padding=(1, 2), output_padding=(1, 0), dilation=(1, 2)), normal(2, 2, 4, 3)),
        "2d_padding_crops": (nn.ConvTranspose2d(2, 3, 3, padding=2), normal(2, 2, 5, 6)),
        "2d_groups": (nn.ConvTranspose2d(6, 9, 3, stride=2, groups=3), normal(1, 6, 3, 4)),
        "2d_depthwise": (nn.ConvTranspose2d(4, 4, 3, stride=2, padding=1, groups=4), normal(2, 4, 3, 4)),
        "2d_pointwise": (nn.ConvTranspose2d(4, 3, 1), normal(2, 4, 3, 3)),
        "2d_one_pixel": (nn.ConvTranspose2d(5, 3, 4), normal(2, 5, 1, 1)),
        "2d_output_size": (lambda x, w: F.conv_transpose2d(x, w, stride=3, output_padding=2), normal(1, 2, 3, 3), normal(2, 4, 3, 3)),
        "2d_empty_batch": (nn.ConvTranspose2d(3, 4, 3), torch.zeros(0, 3, 4, 4)),
        "3d": (nn.ConvTranspose3d(2, 3, 3), normal(1, 2, 3, 4, 3)),
        "3d_stride_padding_output_padding": (nn.ConvTranspose3d(3, 2, 3, stride=2, padding=1, output_padding=1), normal(1, 3, 3, 2, 4)),
        "3d_asymmetric": (nn.ConvTranspose3d(2, 3, (1, 3, 5), stride=(1, 2, 2), padding=(0, 1, 2), output_padding=(0, 1, 0)), normal(2, 2, 3, 3, 4)),
        "3d_groups_dilation": (nn.ConvTranspose3d(4, 4, 2, groups=2, dilation=(2, 1, 2)), normal(1, 4, 3, 3, 2)),
    }
    for name, (run, *inputs) in table.items():
        yield Case(f"conv_transpose{name}", run, tuple(inputs))
