"""Pooling: windows that hang over the edge, indices, and adaptive windows of unequal sizes."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from stitchcuda_torch.cases.case import Case


def cases():
    generator = torch.Generator().manual_seed(109)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    signal, image, volume = normal(2, 3, 11), normal(2, 3, 7, 9), normal(1, 2, 5, 7, 6)
    holes = torch.tensor([[[[1.0, math.nan, 2.0, -math.inf], [0.5, 3.0, -1.0, -math.inf]]]])
    table = {
        "max_1d": (nn.MaxPool1d(3), signal),
        "max_1d_all_options": (nn.MaxPool1d(3, stride=2, padding=1, dilation=2, ceil_mode=True), signal),
        "max_1d_indices": (nn.MaxPool1d(2, return_indices=True), signal),
        "max_1d_without_batch": (nn.MaxPool1d(4, stride=3), signal[0]),
        "max_2d": (nn.MaxPool2d(2), image),
        "max_2d_stem": (nn.MaxPool2d(3, stride=2, padding=1), image),
        "max_2d_asymmetric": (nn.MaxPool2d((2, 3), stride=(1, 2), padding=(1, 0), dilation=(2, 1)), image),
        "max_2d_ceil": (nn.MaxPool2d(2, ceil_mode=True), image),
        "max_2d_ceil_padding": (nn.MaxPool2d(3, stride=3, padding=1, ceil_mode=True), image),
        "max_2d_stride_one": (nn.MaxPool2d(3, stride=1, padding=1), image),
        "max_2d_indices": (nn.MaxPool2d(3, stride=2, return_indices=True), image),
        "max_2d_indices_padding": (nn.MaxPool2d(3, stride=2, padding=1, return_indices=True), image),
        "max_2d_nan_wins": (nn.MaxPool2d(2), holes),
        "max_2d_of_negative_with_padding": (lambda x: F.max_pool2d(-x.abs() - 1, 3, 2, 1), image),
        "max_2d_without_batch": (nn.MaxPool2d(2), image[0]),
        "max_3d": (nn.MaxPool3d(2), volume),
        "max_3d_all_options": (nn.MaxPool3d((3, 2, 2), stride=(2, 2, 1), padding=(1, 0, 1), dilation=(1, 2, 1), ceil_mode=True), volume),
        "max_3d_indices": (nn.MaxPool3d(2, return_indices=True), volume),
        "max_unpool_2d": (lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2, output_size=x.shape), image),
        "lp_2d": (nn.LPPool2d(3, 2), image.abs()),
        "avg_1d": (nn.AvgPool1d(3), signal),
        "avg_1d_padding": (nn.AvgPool1d(4, stride=2, padding=2), signal),
        "avg_1d_ceil_padding_not_counted": (nn.AvgPool1d(3, stride=2, padding=1, ceil_mode=True, count_include_pad=False), normal(2, 3, 10)),
        "avg_1d_ceil_padding_counted": (nn.AvgPool1d(3, stride=2, padding=1, ceil_mode=True), normal(2, 3, 10)),
        "avg_2d": (nn.AvgPool2d(2), image),
        "avg_2d_padding_counted": (nn.AvgPool2d(3, stride=2, padding=1), image),
        "avg_2d_padding_not_counted": (nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False), image),
        "avg_2d_ceil": (nn.AvgPool2d(2, ceil_mode=True), image),
        "avg_2d_ceil_padding": (nn.AvgPool2d((3, 4), stride=(3, 3), padding=(1, 2), ceil_mode=True), image),
        "avg_2d_divisor": (nn.AvgPool2d(3, stride=2, padding=1, divisor_override=5), image),
        "avg_2d_asymmetric": (nn.AvgPool2d((2, 5), stride=(3, 1), padding=(0, 2)), image),
        "avg_2d_global": (lambda x: F.avg_pool2d(x, x.shape[2:]), image),
        "avg_3d": (nn.AvgPool3d(2), volume),
        "avg_3d_all_options": (nn.AvgPool3d(3, stride=2, padding=1, ceil_mode=True, count_include_pad=False), volume),
        "avg_3d_divisor": (nn.AvgPool3d((2, 3, 2), stride=(1, 2, 2), divisor_override=7), volume),
        "adaptive_avg_1d": (nn.AdaptiveAvgPool1d(4), signal),
        "adaptive_avg_1d_one": (nn.AdaptiveAvgPool1d(1), signal),
        "adaptive_avg_2d_one": (nn.AdaptiveAvgPool2d((1, 1)), image),
        "adaptive_avg_2d_not_dividing": (nn.AdaptiveAvgPool2d((3, 4)), image),
        "adaptive_avg_2d_larger_than_input": (nn.AdaptiveAvgPool2d((6, 13)), normal(2, 3, 4, 5)),
        "adaptive_avg_2d_keeps_one_size": (nn.AdaptiveAvgPool2d((None, 2)), image),
        "adaptive_avg_2d_same_size": (nn.AdaptiveAvgPool2d((7, 9)), image),
        "adaptive_avg_3d": (nn.AdaptiveAvgPool3d((2, 3, 4)), volume),
        "adaptive_avg_3d_one": (nn.AdaptiveAvgPool3d(1), volume),
        "adaptive_max_1d": (nn.AdaptiveMaxPool1d(4), signal),
        "adaptive_max_1d_indices": (nn.AdaptiveMaxPool1d(3, return_indices=True), signal),
        "adaptive_max_2d_not_dividing": (nn.AdaptiveMaxPool2d((3, 4)), image),
        "adaptive_max_2d_indices": (nn.AdaptiveMaxPool2d((2, 5), return_indices=True), image),
        "adaptive_max_3d": (nn.AdaptiveMaxPool3d((2, 3, 4)), volume),
    }
    for name, (run, *inputs) in table.items():
        yield Case(f"pool_{name}", run, tuple(inputs))
