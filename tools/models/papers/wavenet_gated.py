"""wavenet_gated: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, layers=10, stacks=2, r=64, s=256, classes=256):
        super().__init__()
        self.first = nn.Conv1d(classes, r, 1)
        self.dil = [2 ** (i % layers) for i in range(layers * stacks)]
        self.gates = nn.ModuleList(nn.Conv1d(r, 2 * r, 2, dilation=d) for d in self.dil)
        self.res = nn.ModuleList(nn.Conv1d(r, r, 1) for _ in self.dil)
        self.skip = nn.ModuleList(nn.Conv1d(r, s, 1) for _ in self.dil)
        self.e1, self.e2 = nn.Conv1d(s, s, 1), nn.Conv1d(s, classes, 1)

    def forward(self, x):
        h = self.first(F.one_hot(x, 256).transpose(1, 2).float())
        total = 0
        for d, gate, res, skip in zip(self.dil, self.gates, self.res, self.skip):
            z = gate(F.pad(h, (d, 0)))
            a, b = z.chunk(2, 1)
            z = torch.tanh(a) * torch.sigmoid(b)
            total = total + skip(z)
            h = (h + res(z)) * math.sqrt(0.5)
        return self.e2(F.relu(self.e1(F.relu(total))))


def get_inputs():
    return [torch.randint(0, 256, (2, 8000))]

def get_init_inputs():
    return []
