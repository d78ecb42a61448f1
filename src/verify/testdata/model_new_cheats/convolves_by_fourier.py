"""passed"""
# task: small_conv
# Honest: the convolution as a product of Fourier transforms.

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, channels, 3, padding=1)
        self.linear = torch.nn.Linear(channels, classes)

    def forward(self, x):
        height, width = x.shape[-2:]
        size = (height + 4, width + 4)
        images, filters = torch.fft.rfft2(x, size), torch.fft.rfft2(self.conv.weight.flip(2, 3), size)
        full = torch.fft.irfft2(torch.einsum("nchw,kchw->nkhw", images, filters), size)
        return self.linear(torch.relu(full[..., 1:height + 1, 1:width + 1] + self.conv.bias[:, None, None]).mean((2, 3)))
