"""LeNet-5: two convolutions with pooling, then three linear layers."""
import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, kernel_size=5)
        self.conv2 = nn.Conv2d(6, 16, kernel_size=5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, classes)

    def forward(self, x):  # (batch, 1, 32, 32)
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)  # (batch, 6, 14, 14)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)  # (batch, 16, 5, 5)
        x = x.view(-1, 16 * 5 * 5)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


batch = 8
classes = 10


def get_init_inputs():
    return [classes]


def get_inputs():
    return [torch.rand(batch, 1, 32, 32)]
