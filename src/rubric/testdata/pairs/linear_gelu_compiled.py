import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, *sizes):
        super().__init__()
        self.fc = nn.Linear(1024, 4096)
        self.fast = torch.compile(lambda x: F.gelu(self.fc(x)))

    def forward(self, x):
        return self.fast(x)
