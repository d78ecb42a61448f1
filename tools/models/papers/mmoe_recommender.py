"""mmoe_recommender: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, fields=20, rows=5000, d=16, e=6, tasks=2):
        super().__init__()
        self.emb = nn.ModuleList(nn.Embedding(rows, d) for _ in range(fields))
        i = fields * d
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(i, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU()) for _ in range(e))
        self.gates = nn.ModuleList(nn.Linear(i, e, bias=False) for _ in range(tasks))
        self.towers = nn.ModuleList(nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1)) for _ in range(tasks))

    def forward(self, x):
        h = torch.cat([e(x[:, k]) for k, e in enumerate(self.emb)], 1)
        ex = torch.stack([e(h) for e in self.experts], 1)
        return torch.cat([t((g(h).softmax(-1).unsqueeze(-1) * ex).sum(1)).sigmoid() for g, t in zip(self.gates, self.towers)], 1)


def get_inputs():
    return [torch.randint(0, 5000, (4096, 20))]

def get_init_inputs():
    return []
