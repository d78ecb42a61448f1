"""Operators that move data and compute nothing: views, joins, splits, repeats, windows."""
import torch
from einops import rearrange, reduce, repeat
from torch import nn
from torch.nn import functional as F

from stitchcuda_torch.cases.case import Case


def channel_shuffle(x, groups):
    batch, channels, height, width = x.size()
    x = x.view(batch, groups, channels // groups, height, width)
    return torch.transpose(x, 1, 2).contiguous().view(batch, -1, height, width)


def window_partition(x, size):
    batch, height, width, channels = x.shape
    x = x.view(batch, height // size, size, width // size, size, channels)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, size, size, channels)


def window_reverse(windows, size, height, width):
    batch = windows.shape[0] // ((height // size) * (width // size))
    x = windows.view(batch, height // size, width // size, size, size, -1)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(batch, height, width, -1)


def shift_windows_and_back(x):
    windows = window_partition(torch.roll(x, shifts=(-1, -1), dims=(1, 2)), 2)
    windows = windows - windows.mean((1, 2), keepdim=True)
    return torch.roll(window_reverse(windows, 2, x.shape[1], x.shape[2]), shifts=(1, 1), dims=(1, 2))


def merge_patches(x):
    corners = [x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]]
    return torch.cat(corners, dim=-1)


def image_to_patches(x, size):
    patches = x.unfold(2, size, size).unfold(3, size, size)
    return patches.reshape(x.size(0), -1, x.size(1) * size * size)


def cases():
    generator = torch.Generator().manual_seed(113)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    x, image = normal(2, 3, 4), normal(2, 4, 6, 8)
    table = {
        # Shape.
        "view": (lambda x: x.view(6, 4) * 2, x),
        "view_inferred": (lambda x: x.view(2, -1), x),
        "view_to_rank_zero": (lambda x: x.view(()), normal(1)),
        "view_as": (lambda x, y: x.view_as(y) + y, x, normal(4, 6)),
        "reshape": (lambda x: x.reshape(4, 3, 2), x),
        "reshape_of_transposed_copies": (lambda x: x.transpose(0, 2).reshape(-1, 2), x),
        "reshape_of_empty": (lambda x: x.reshape(3, 0, 2), torch.zeros(2, 0, 5)),
        "flatten": (torch.flatten, x),
        "flatten_from_one": (lambda x: torch.flatten(x, 1), image),
        "flatten_middle": (lambda x: x.flatten(1, -2), image),
        "flatten_of_permuted": (lambda x: x.permute(0, 2, 3, 1).flatten(1, 2), image),
        "flatten_of_rank_zero": (torch.flatten, torch.tensor(1.5)),
        "unflatten": (lambda x: x.unflatten(-1, (2, 2)), x),
        "unflatten_inferred": (lambda x: torch.unflatten(x, 1, (-1, 1)), x),
        "ravel": (torch.ravel, x),
        "squeeze": (torch.squeeze, normal(1, 3, 1, 2)),
        "squeeze_dim": (lambda x: x.squeeze(-2).squeeze(0), normal(1, 3, 1, 2)),
        "squeeze_dim_not_one": (lambda x: x.squeeze(1), normal(1, 3, 1, 2)),
        "squeeze_several_dims": (lambda x: x.squeeze((0, 2)), normal(1, 3, 1, 2)),
        "unsqueeze": (lambda x: x.unsqueeze(0).unsqueeze(-1).unsqueeze(2), x),
        "index_with_none": (lambda x: x[:, None, :, None], x),
        "atleast": (lambda x: (torch.atleast_1d(x), torch.atleast_2d(x), torch.atleast_3d(x)), torch.tensor(2.0)),
        # Order of dimensions.
        "transpose": (lambda x: x.transpose(0, 2), x),
        "transpose_negative": (lambda x: x.transpose(-1, -3), x),
        "t": (lambda x: x.t(), normal(3, 5)),
        "numpy_t": (lambda x: x.T, normal(3, 5)),
        "matrix_transpose": (lambda x: x.mT + x.mH, x),
        "permute": (lambda x: x.permute(0, 2, 3, 1), image),
        "permute_negative": (lambda x: torch.permute(x, (-1, 0, -2, 1)), image),
        "movedim": (lambda x: torch.movedim(x, 1, -1), image),
        "movedim_several": (lambda x: torch.movedim(x, (0, 3), (2, 0)), image),
        "swapaxes": (lambda x: torch.swapaxes(x, 0, 1), x),
        "contiguous_of_permuted": (lambda x: x.permute(2, 0, 1).contiguous().view(-1), x),
        "channels_last_keeps_values": (lambda x: x.to(memory_format=torch.channels_last) + 1, image),
        "clone_of_transposed": (lambda x: x.transpose(0, 1).clone(), x),
        "as_strided_windows": (lambda x: torch.as_strided(x, (3, 2), (2, 1), 1), normal(8)),
        "input_transposed_then_view": (lambda x: x.transpose(0, 1).view(-1) * 3, normal(4, 3).t()),
        # Parts.
        "select": (lambda x: x.select(1, 2), x),
        "select_negative": (lambda x: x[:, -1], x),
        "select_several": (lambda x: x[1, 2], x),
        "slice": (lambda x: x[:, 1:3], x),
        "slice_step": (lambda x: x[..., ::2], x),
        "slice_negative_ends": (lambda x: x[:, -2:, :-1], x),
        "slice_past_the_end": (lambda x: x[:, 1:99], x),
        "slice_empty": (lambda x: x[:, 2:2], x),
        "slice_and_select_and_none": (lambda x: x[0, ..., None, 1::2], image),
        "narrow": (lambda x: x.narrow(2, 1, 2), x),
        "narrow_negative_start": (lambda x: torch.narrow(x, -1, -3, 2), x),
        "split": (lambda x: torch.split(x, 2, dim=-1), normal(3, 5)),
        "split_sizes": (lambda x: torch.split(x, [1, 3, 2], dim=1), normal(2, 6)),
        "split_then_use_one": (lambda x: x.split(4, dim=1)[1] * 2, normal(2, 12)),
        "chunk": (lambda x: torch.chunk(x, 3, dim=1), normal(2, 7)),
        "chunk_gate": (lambda x: torch.sigmoid(x.chunk(2, -1)[0]) * x.chunk(2, -1)[1], normal(2, 8)),
        "tensor_split": (lambda x: torch.tensor_split(x, 3, dim=1), normal(2, 7)),
        "tensor_split_at": (lambda x: torch.tensor_split(x, (1, 4), dim=1), normal(2, 7)),
        "unbind": (lambda x: torch.unbind(x, dim=1), x),
        "unbind_qkv": (lambda x: torch.mul(*x.reshape(2, 3, 3, 4).permute(2, 0, 1, 3).unbind(0)[:2]), normal(2, 3, 12)),
        "diagonal": (torch.diagonal, normal(4, 5)),
        "diagonal_offset_batched": (lambda x: torch.diagonal(x, offset=-1, dim1=-2, dim2=-1), normal(2, 4, 5)),
        "diag_of_matrix": (lambda x: torch.diag(x, 1), normal(4, 4)),
        "diag_of_vector": (lambda x: torch.diag(x, -1), normal(3)),
        "diag_embed": (torch.diag_embed, normal(2, 3)),
        "diag_embed_offset_dims": (lambda x: torch.diag_embed(x, offset=1, dim1=0, dim2=2), normal(2, 3)),
        "tril": (torch.tril, normal(4, 5)),
        "tril_diagonal_batched": (lambda x: torch.tril(x, diagonal=-1), normal(2, 4, 3)),
        "triu": (torch.triu, normal(4, 5)),
        "triu_diagonals_batched": (lambda x: torch.triu(x, diagonal=2) + torch.triu(x, diagonal=-3), normal(2, 5, 4)),
        # Joins.
        "cat": (lambda x, y: torch.cat([x, y], dim=1), normal(2, 3), normal(2, 4)),
        "cat_negative_dim": (lambda x, y: torch.cat((x, y, x), dim=-2), normal(2, 3, 4), normal(2, 1, 4)),
        "cat_with_empty": (lambda x, y: torch.cat([x, y], dim=0), normal(2, 3), torch.zeros(0, 3)),
        "cat_with_legacy_empty": (lambda x, y: torch.cat([y, x], dim=1), normal(2, 3), torch.zeros(0)),
        "cat_of_views": (lambda x: torch.cat([x[:, 2:], x[:, :2].transpose(1, 2).reshape(2, 2, 4)], dim=1), x),
        "stack": (lambda x, y: torch.stack([x, y]), normal(2, 3), normal(2, 3)),
        "stack_negative_dim": (lambda x, y: torch.stack((x, y), dim=-1), normal(2, 3), normal(2, 3)),
        "stack_rank_zero": (lambda x: torch.stack([x.sum(), x.mean(), x.max()]), normal(2, 3)),
        "hstack_vstack_dstack": (lambda x, y: (torch.hstack([x, y]), torch.vstack([x, y]), torch.dstack([x, y])), normal(2, 3), normal(2, 3)),
        "column_stack": (lambda x, y: torch.column_stack([x, y]), normal(3), normal(3)),
        "block_diag": (lambda x, y: torch.block_diag(x, y), normal(2, 3), normal(1, 2)),
        # Repeats.
        "expand": (lambda x: x.expand(2, 3, -1).contiguous(), normal(3, 1)),
        "expand_new_leading_dims": (lambda x: x.expand(4, 2, 3) + 1, normal(2, 3)),
        "repeat": (lambda x: x.repeat(2, 3), normal(2, 3)),
        "repeat_new_leading_dims": (lambda x: x.repeat(2, 1, 3), normal(2, 3)),
        "tile": (lambda x: torch.tile(x, (3,)), normal(2, 3)),
        "repeat_interleave": (lambda x: x.repeat_interleave(3, dim=1), normal(2, 3)),
        "repeat_interleave_by_counts": (lambda x, n: (x.repeat_interleave(n, dim=1, output_size=6), torch.repeat_interleave(n, output_size=6)), normal(2, 4), torch.tensor([2, 0, 3, 1])),
        "repeat_interleave_flat": (lambda x: torch.repeat_interleave(x, 2), normal(2, 3)),
        # Reorderings.
        "flip": (lambda x: torch.flip(x, dims=[1]), x),
        "flip_several": (lambda x: x.flip(0, -1), x),
        "fliplr_flipud": (lambda x: torch.fliplr(x) + torch.flipud(x), normal(3, 4)),
        "rot90": (lambda x: torch.rot90(x, 1, (0, 1)), normal(3, 4)),
        "roll": (lambda x: torch.roll(x, 1, 1), x),
        "roll_several_negative": (lambda x: torch.roll(x, shifts=(-1, 2), dims=(1, -1)), x),
        "roll_flat": (lambda x: torch.roll(x, 5), x),
        "roll_by_more_than_size": (lambda x: torch.roll(x, -7, 1), x),
        # Images and windows.
        "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), image),
        "pixel_unshuffle": (lambda x: F.pixel_unshuffle(x, 2), image),
        "channel_shuffle_by_hand": (lambda x: channel_shuffle(x, 2), image),
        "channel_shuffle": (nn.ChannelShuffle(2), image),
        "unfold": (lambda x: x.unfold(1, 3, 2), normal(2, 7, 3)),
        "unfold_overlapping": (lambda x: x.unfold(-1, 4, 1).mean(-1), normal(2, 7)),
        "unfold_image_to_patches": (lambda x: image_to_patches(x, 2), image),
        "im2col": (lambda x: F.unfold(x, kernel_size=3, padding=1, stride=2), image),
        "im2col_asymmetric": (lambda x: F.unfold(x, (2, 3), dilation=(2, 1), padding=(0, 1), stride=(1, 2)), image),
        "im2col_times_weight": (lambda x, w: w.view(5, -1) @ F.unfold(x, 3), image, normal(5, 4, 3, 3)),
        "col2im": (lambda x: F.fold(x, output_size=(5, 6), kernel_size=(2, 3), stride=(1, 1)), normal(2, 12, 16)),
        "col2im_overlapping_padding": (lambda x: F.fold(F.unfold(x, 3, padding=1), (6, 8), 3, padding=1), image),
        "window_partition": (lambda x: window_partition(x, 2), normal(2, 4, 6, 3)),
        "window_partition_and_reverse": (lambda x: window_reverse(window_partition(x, 2) * 2, 2, 4, 6), normal(2, 4, 6, 3)),
        "shifted_windows": (shift_windows_and_back, normal(2, 4, 6, 3)),
        "patch_merging": (merge_patches, normal(2, 4, 6, 3)),
        # Einops.
        "einops_split_heads": (lambda x: rearrange(x, "b n (h d) -> b h n d", h=2), normal(2, 3, 8)),
        "einops_patches": (lambda x: rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=4), image),
        "einops_chunks": (lambda x: rearrange(x, "b (c l) ... -> b c l ...", l=2), normal(2, 6, 3)),
        "einops_reduce": (lambda x: reduce(x, "b c (h p) w -> b c h w", "max", p=3), image),
        "einops_repeat": (lambda x: repeat(x, "b d -> b n d", n=3), normal(2, 4)),
        # Complex-free pairs.
        "view_pairs": (lambda x: torch.stack((-x.view(3, 2, 2)[..., 1], x.view(3, 2, 2)[..., 0]), dim=-1).flatten(-2), normal(3, 4)),
        "meshgrid": (lambda x, y: torch.meshgrid(x, y, indexing="ij"), normal(3), normal(4)),
        "meshgrid_xy": (lambda x, y: torch.stack(torch.meshgrid(x, y, indexing="xy")), normal(3), normal(4)),
        "cartesian_prod": (lambda x, y: torch.cartesian_prod(x, y), normal(3), normal(2)),
        "identity_returns_input": (lambda x: x, x),
        "alias": (lambda x: torch.ops.aten.alias(x) * 2, x),
        "same_value_twice": (lambda x: (x * 2, x, x * 2), x),
    }
    for name, (run, *inputs) in table.items():
        yield Case(f"view_{name}", run, tuple(inputs))
