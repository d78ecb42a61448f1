"""tacotron_encoder: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Highway(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.h, self.t = nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        t = torch.sigmoid(self.t(x))
        return F.relu(self.h(x)) * t + x * (1 - t)


class Model(nn.Module):
    def __init__(self, d=128, k=16):
        super().__init__()
        self.emb = nn.Embedding(150, 256)
        self.prenet = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Dropout(0.5), nn.Linear(256, d), nn.ReLU(), nn.Dropout(0.5))
        self.bank = nn.ModuleList(nn.Sequential(nn.Conv1d(d, d, i, padding=i // 2, bias=False), nn.ReLU(), nn.BatchNorm1d(d)) for i in range(1, k + 1))
        self.pool = nn.MaxPool1d(2, 1, 1)
        self.p1 = nn.Sequential(nn.Conv1d(k * d, d, 3, padding=1, bias=False), nn.ReLU(), nn.BatchNorm1d(d))
        self.p2 = nn.Sequential(nn.Conv1d(d, d, 3, padding=1, bias=False), nn.BatchNorm1d(d))
        self.highways = nn.Sequential(*[Highway(d) for _ in range(4)])
        self.gru = nn.GRU(d, d, batch_first=True, bidirectional=True)

    def forward(self, x):
        x = self.prenet(self.emb(x))
        y = x.transpose(1, 2)
        n = y.shape[-1]
        y = torch.cat([conv(y)[:, :, :n] for conv in self.bank], 1)
        y = self.pool(y)[:, :, :n]
        y = self.p2(self.p1(y)).transpose(1, 2) + x
        return self.gru(self.highways(y))[0]


def get_inputs():
    return [torch.randint(0, 150, (16, 120))]

def get_init_inputs():
    return []
