"""A WaveNet-like stack: causal 1-D convolutions whose dilation doubles, gated, with residual and skip paths."""
import torch
from torch import nn
from torch.nn import functional as F


class GatedLayer(nn.Module):
    def __init__(self, channels, skip, dilation):
        super().__init__()
        self.reach = dilation  # a kernel of 2 looks back this far
        self.filter_and_gate = nn.Conv1d(channels, 2 * channels, kernel_size=2, dilation=dilation)
        self.residual = nn.Conv1d(channels, channels, kernel_size=1)
        self.skip = nn.Conv1d(channels, skip, kernel_size=1)

    def forward(self, x):  # (batch, channels, time)
        both = self.filter_and_gate(F.pad(x, (self.reach, 0)))
        filtered, gate = both.chunk(2, dim=1)
        y = torch.tanh(filtered) * torch.sigmoid(gate)
        return x + self.residual(y), self.skip(y)


class Model(nn.Module):
    def __init__(self, channels, skip, dilations, levels):
        super().__init__()
        self.embed = nn.Conv1d(1, channels, kernel_size=1)
        self.layers = nn.ModuleList(GatedLayer(channels, skip, dilation) for dilation in dilations)
        self.head = nn.Sequential(nn.ReLU(), nn.Conv1d(skip, skip, 1), nn.ReLU(), nn.Conv1d(skip, levels, 1))

    def forward(self, wave):  # (batch, 1, time)
        x, total = self.embed(wave), 0
        for layer in self.layers:
            x, skip = layer(x)
            total = total + skip
        return F.log_softmax(self.head(total), dim=1)  # (batch, levels, time)


batch = 2
time = 50
channels = 12
skip = 16
dilations = [1, 2, 4, 8]
levels = 32


def get_init_inputs():
    return [channels, skip, dilations, levels]


def get_inputs():
    return [torch.rand(batch, 1, time) * 2 - 1]
