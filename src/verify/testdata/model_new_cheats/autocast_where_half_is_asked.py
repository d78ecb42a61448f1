"""passed"""
# task: small_conv
# class: half
# Honest: autocast, in the class that has it.

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, channels, 3, padding=1)
        self.linear = torch.nn.Linear(channels, classes)

    def forward(self, x):
        with torch.autocast(x.device.type, dtype=torch.float16):
            return self.linear(torch.relu(self.conv(x)).mean((2, 3))).float()
