"""Normalisation layers: whose statistics, which buffers they update, with and without scale and shift."""
import torch
from torch import nn
from torch.nn import functional as F

from stitchcuda_torch.cases.case import Case


def trained(norm):
    """Scale, shift and running statistics away from their initial ones and zeros."""
    for tensor in [*norm.parameters(), *norm.buffers()]:
        if tensor.is_floating_point():
            tensor.data.uniform_(0.5, 1.5)
    return norm


def rms_norm_by_hand(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight


def rms_norm_over_channels(x):
    return x / torch.sqrt(torch.mean(x**2, dim=1, keepdim=True) + 1e-5)


def layer_norm_by_hand(x):
    centered = x - x.mean(-1, keepdim=True)
    return centered / torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + 1e-5)


def batch_norm_reads_updated_statistics(norm):
    class Twice(nn.Module):
        """The second call must see the running mean that the first has written."""

        def __init__(self):
            super().__init__()
            self.norm = norm

        def forward(self, x):
            return self.norm(self.norm(x)) + self.norm.running_mean + self.norm.num_batches_tracked

    return Twice()


def cases():
    generator = torch.Generator().manual_seed(108)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    torch.manual_seed(108)
    signal, image, volume = normal(4, 3, 7) + 0.5, 2 * normal(3, 4, 5, 6) - 1, normal(2, 3, 3, 4, 5)
    table = {
        "batch_1d_matrix": (trained(nn.BatchNorm1d(5)), normal(8, 5)),
        "batch_1d_sequence": (trained(nn.BatchNorm1d(3)), signal),
        "batch_2d": (trained(nn.BatchNorm2d(4)), image),
        "batch_3d": (trained(nn.BatchNorm3d(3)), volume),
        "batch_fresh": (nn.BatchNorm2d(4), image),
        "batch_eps_momentum": (trained(nn.BatchNorm2d(4, eps=0.1, momentum=0.7)), image),
        "batch_not_affine": (trained(nn.BatchNorm2d(4, affine=False)), image),
        "batch_not_tracking": (trained(nn.BatchNorm2d(4, track_running_stats=False)), image),
        "batch_called_twice": (batch_norm_reads_updated_statistics(trained(nn.BatchNorm1d(5))), normal(8, 5)),
        "batch_after_conv": (nn.Sequential(nn.Conv2d(4, 3, 3, bias=False), trained(nn.BatchNorm2d(3)), nn.ReLU(inplace=True)), image),
        "batch_function_without_statistics": (lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), image, normal(4), normal(4)),
        "batch_function_frozen": (lambda x, mean, var: F.batch_norm(x, mean, var), image, normal(4), normal(4).abs() + 0.5),
        "instance_1d": (nn.InstanceNorm1d(3), signal),
        "instance_2d": (nn.InstanceNorm2d(4), image),
        "instance_3d": (nn.InstanceNorm3d(3), volume),
        "instance_affine": (trained(nn.InstanceNorm2d(4, affine=True, eps=0.01)), image),
        "instance_tracking": (trained(nn.InstanceNorm2d(4, track_running_stats=True)), image),
        "instance_without_batch": (nn.InstanceNorm2d(4), image[0]),
        "group": (trained(nn.GroupNorm(2, 4)), image),
        "group_one_group": (trained(nn.GroupNorm(1, 4)), image),
        "group_one_channel_each": (trained(nn.GroupNorm(4, 4)), image),
        "group_not_affine": (nn.GroupNorm(2, 4, eps=0.1, affine=False), image),
        "group_of_matrix": (trained(nn.GroupNorm(3, 12)), normal(5, 12)),
        "group_of_sequence": (trained(nn.GroupNorm(2, 6)), normal(2, 6, 5)),
        "group_of_volume": (trained(nn.GroupNorm(3, 3)), volume),
        "layer": (trained(nn.LayerNorm(7)), signal),
        "layer_two_dims": (trained(nn.LayerNorm((5, 6))), image),
        "layer_three_dims": (trained(nn.LayerNorm((4, 5, 6))), image),
        "layer_no_bias": (trained(nn.LayerNorm(7, bias=False)), signal),
        "layer_not_affine_eps": (nn.LayerNorm(7, eps=0.1, elementwise_affine=False), signal),
        "layer_long_row": (trained(nn.LayerNorm(1027)), normal(2, 1027)),
        "layer_of_vector": (trained(nn.LayerNorm(7)), normal(7)),
        "layer_of_empty_batch": (trained(nn.LayerNorm(7)), torch.zeros(0, 7)),
        "layer_of_permuted": (lambda x: F.layer_norm(x.permute(0, 2, 3, 1), (4,)), image),
        "layer_by_hand": (layer_norm_by_hand, signal),
        "rms_module": (trained(nn.RMSNorm(7)), signal),
        "rms_module_eps_two_dims": (trained(nn.RMSNorm((3, 7), eps=0.01)), signal),
        "rms_half_without_eps": (nn.RMSNorm(7).half(), (signal * 0.01).half()),
        "rms_function_no_weight": (lambda x: F.rms_norm(x, (7,), eps=1e-6), signal),
        "rms_by_hand": (rms_norm_by_hand, signal, normal(7)),
        "rms_over_channels": (rms_norm_over_channels, image),
        "local_response": (nn.LocalResponseNorm(3, alpha=0.1, beta=0.6, k=1.5), image),
        "weight_norm_by_hand": (lambda x, v, g: F.linear(x, g * v / v.norm(dim=1, keepdim=True)), normal(2, 5), normal(3, 5), normal(3, 1)),
    }
    for name, (run, *inputs) in table.items():
        yield Case(f"norm_{name}", run, tuple(inputs))

    frozen = {
        # In train mode momentum=None reads its counter as a Python number, which torch.export refuses.
        "batch_momentum_none": (trained(nn.BatchNorm2d(4, momentum=None)), image),
        "batch_1d": (trained(nn.BatchNorm1d(5)), normal(8, 5)),
        "batch_2d": (trained(nn.BatchNorm2d(4)), image),
        "batch_3d": (trained(nn.BatchNorm3d(3)), volume),
        "batch_not_tracking": (trained(nn.BatchNorm2d(4, track_running_stats=False)), image),
        "batch_of_one_element": (trained(nn.BatchNorm1d(5)), normal(1, 5)),
        "instance": (nn.InstanceNorm2d(4), image),
        "instance_tracking": (trained(nn.InstanceNorm2d(4, track_running_stats=True)), image),
        "layer": (trained(nn.LayerNorm(7)), signal),
    }
    for name, (run, *inputs) in frozen.items():
        yield Case(f"norm_{name}_eval", run, tuple(inputs), eval=True)
