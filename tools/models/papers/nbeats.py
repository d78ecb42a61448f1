"""nbeats: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Block(nn.Module):
    def __init__(self, back, fore, w=512, theta=8, kind="generic"):
        super().__init__()
        self.fc = nn.Sequential(*[m for k in range(4) for m in (nn.Linear(back if k == 0 else w, w), nn.ReLU())])
        self.tb, self.tf = nn.Linear(w, theta, bias=False), nn.Linear(w, theta, bias=False)
        self.kind = kind
        if kind == "trend":
            tb, tf = torch.arange(back) / back, torch.arange(fore) / fore
            self.register_buffer("B", torch.stack([tb ** i for i in range(theta)]))
            self.register_buffer("F", torch.stack([tf ** i for i in range(theta)]))
        else:
            self.bb, self.bf = nn.Linear(theta, back), nn.Linear(theta, fore)

    def forward(self, x):
        h = self.fc(x)
        if self.kind == "trend":
            return self.tb(h) @ self.B, self.tf(h) @ self.F
        return self.bb(F.relu(self.tb(h))), self.bf(F.relu(self.tf(h)))


class Model(nn.Module):
    def __init__(self, back=96, fore=24):
        super().__init__()
        self.blocks = nn.ModuleList([Block(back, fore, kind="trend", theta=3) for _ in range(3)] + [Block(back, fore) for _ in range(6)])
        self.fore = fore

    def forward(self, x):
        out = torch.zeros(x.shape[0], self.fore, device=x.device)
        for b in self.blocks:
            back, fore = b(x)
            x = x - back
            out = out + fore
        return out


def get_inputs():
    return [torch.randn(1024, 96)]

def get_init_inputs():
    return []
