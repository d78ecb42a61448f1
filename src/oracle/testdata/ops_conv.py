"""Convolutions in one, two and three dimensions."""
import torch
from torch import nn
from torch.nn import functional as F

from stitchcuda_torch.cases.case import Case


def cases():
    generator = torch.Generator().manual_seed(106)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    torch.manual_seed(106)
    table = {
        # One dimension.
        "1d": (nn.Conv1d(3, 5, 3), normal(2, 3, 11)),
        "1d_stride_dilation": (nn.Conv1d(3, 5, 3, stride=2, dilation=4), normal(2, 3, 23)),
        "1d_padding_groups_no_bias": (nn.Conv1d(6, 4, 5, padding=2, groups=2, bias=False), normal(2, 6, 9)),
        "1d_depthwise_causal": (lambda x, w: F.conv1d(F.pad(x, (3, 0)), w, groups=4), normal(2, 4, 8), normal(4, 1, 4)),
        "1d_window_mixing": (nn.Conv1d(12, 12, 1, groups=3), normal(5, 12, 7)),
        "1d_without_batch": (nn.Conv1d(3, 5, 3), normal(3, 9)),
        "1d_same": (nn.Conv1d(3, 5, 4, padding="same"), normal(2, 3, 9)),
        "1d_circular": (nn.Conv1d(3, 5, 3, padding=1, padding_mode="circular"), normal(2, 3, 7)),
        # Two dimensions.
        "2d": (nn.Conv2d(3, 5, 3), normal(2, 3, 7, 9)),
        "2d_pointwise": (nn.Conv2d(7, 5, 1), normal(2, 7, 4, 5)),
        "2d_pointwise_stride": (nn.Conv2d(7, 5, 1, stride=2, bias=False), normal(2, 7, 5, 6)),
        "2d_padding": (nn.Conv2d(3, 5, 3, padding=1), normal(2, 3, 7, 9)),
        "2d_stem": (nn.Conv2d(3, 8, 7, stride=2, padding=3, bias=False), normal(1, 3, 17, 19)),
        "2d_asymmetric_kernel": (nn.Conv2d(3, 5, (5, 2)), normal(2, 3, 9, 7)),
        "2d_row_kernel": (nn.Conv2d(4, 4, (1, 7), padding=(0, 3)), normal(2, 4, 5, 9)),
        "2d_all_asymmetric": (nn.Conv2d(2, 3, (3, 5), stride=(2, 1), padding=(2, 4), dilation=(2, 3)), normal(2, 2, 11, 13)),
        "2d_dilation": (nn.Conv2d(3, 4, 3, dilation=3), normal(1, 3, 11, 10)),
        "2d_groups": (nn.Conv2d(6, 9, 3, groups=3), normal(2, 6, 5, 5)),
        "2d_depthwise": (nn.Conv2d(5, 5, 3, padding=1, groups=5), normal(2, 5, 6, 7)),
        "2d_depthwise_multiplier": (nn.Conv2d(3, 6, 3, groups=3, stride=2), normal(2, 3, 7, 7)),
        "2d_patches": (nn.Conv2d(3, 8, 4, stride=4), normal(2, 3, 12, 8)),
        "2d_large_padding": (nn.Conv2d(2, 3, 2, padding=3), normal(1, 2, 4, 3)),
        "2d_kernel_as_large_as_image": (nn.Conv2d(3, 4, (5, 6)), normal(2, 3, 5, 6)),
        "2d_one_channel": (nn.Conv2d(1, 6, 5), normal(2, 1, 9, 9)),
        "2d_without_batch": (nn.Conv2d(3, 4, 3), normal(3, 6, 5)),
        "2d_empty_batch": (nn.Conv2d(3, 4, 3), torch.zeros(0, 3, 6, 5)),
        "2d_same_odd_kernel": (nn.Conv2d(3, 4, 3, padding="same"), normal(2, 3, 5, 6)),
        "2d_same_even_kernel": (nn.Conv2d(3, 4, (2, 4), padding="same"), normal(2, 3, 5, 6)),
        "2d_same_dilation": (nn.Conv2d(3, 4, (3, 2), padding="same", dilation=(2, 3)), normal(2, 3, 7, 8)),
        "2d_valid": (nn.Conv2d(3, 4, 3, padding="valid"), normal(2, 3, 5, 6)),
        "2d_reflect": (nn.Conv2d(3, 4, 5, padding=2, padding_mode="reflect"), normal(2, 3, 6, 5)),
        "2d_replicate": (nn.Conv2d(3, 4, 3, padding=(1, 2), padding_mode="replicate"), normal(2, 3, 6, 5)),
        "2d_circular": (nn.Conv2d(3, 4, 3, padding=(2, 1), padding_mode="circular"), normal(2, 3, 6, 5)),
        "2d_same_reflect": (nn.Conv2d(3, 4, 4, padding="same", padding_mode="reflect"), normal(2, 3, 6, 5)),
        "2d_weight_is_an_input": (lambda x, w, b: F.conv2d(x, w, b, padding=1), normal(2, 3, 5, 5), normal(4, 3, 3, 3), normal(4)),
        "2d_input_permuted": (lambda x, w: F.conv2d(x.permute(0, 3, 1, 2), w), normal(2, 5, 6, 3), normal(4, 3, 2, 2)),
        "2d_channels_last": (lambda x, w: F.conv2d(x.contiguous(memory_format=torch.channels_last), w), normal(2, 3, 5, 6), normal(4, 3, 2, 2)),
        "2d_depthwise_then_pointwise": (nn.Sequential(nn.Conv2d(4, 4, 3, padding=1, groups=4, bias=False), nn.Conv2d(4, 6, 1)), normal(2, 4, 5, 5)),
        # Three dimensions.
        "3d": (nn.Conv3d(2, 3, 3), normal(2, 2, 5, 6, 4)),
        "3d_asymmetric": (nn.Conv3d(2, 3, (1, 3, 2), stride=(1, 2, 1), padding=(0, 1, 1), dilation=(1, 1, 2)), normal(1, 2, 4, 7, 6)),
        "3d_groups": (nn.Conv3d(4, 6, 2, groups=2, bias=False), normal(2, 4, 3, 4, 3)),
        "3d_depthwise": (nn.Conv3d(3, 3, 3, padding=1, groups=3), normal(1, 3, 4, 3, 5)),
        "3d_same": (nn.Conv3d(2, 3, (3, 2, 1), padding="same"), normal(1, 2, 4, 3, 5)),
        "3d_replicate": (nn.Conv3d(2, 3, 3, padding=1, padding_mode="replicate"), normal(1, 2, 3, 4, 5)),
    }
    for name, (run, *inputs) in table.items():
        yield Case(f"conv{name}", run, tuple(inputs))
