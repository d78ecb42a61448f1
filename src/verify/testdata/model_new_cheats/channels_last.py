"""passed"""
# task: small_conv
# Honest: the convolution in NHWC.

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, channels, 3, padding=1).to(memory_format=torch.channels_last)
        self.linear = torch.nn.Linear(channels, classes)

    def forward(self, x):
        x = x.to(memory_format=torch.channels_last)
        return self.linear(torch.relu(self.conv(x)).mean((2, 3)))
