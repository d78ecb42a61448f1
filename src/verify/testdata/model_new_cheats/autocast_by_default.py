"""correctness: wrong"""
# task: small_conv
# Autocast where the class has FP32, switched on for the whole process.

import torch

torch.set_autocast_enabled("cpu", True)
torch.set_autocast_enabled("cuda", True)
torch.set_autocast_dtype("cuda", torch.bfloat16)


class ModelNew(torch.nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, channels, 3, padding=1)
        self.linear = torch.nn.Linear(channels, classes)

    def forward(self, x):
        return self.linear(torch.relu(self.conv(x)).mean((2, 3))).float()
