"""ft_transformer: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, num=24, cats=(12, 40, 7, 300, 9, 1000), d=192, layers=3):
        super().__init__()
        self.w, self.b = nn.Parameter(torch.randn(num, d) * 0.1), nn.Parameter(torch.randn(num + len(cats), d) * 0.1)
        self.register_buffer("off", torch.tensor([0] + list(cats[:-1])).cumsum(0))
        self.emb = nn.Embedding(sum(cats), d)
        self.cls = nn.Parameter(torch.randn(1, 1, d) * 0.02)
        self.att = nn.ModuleList(nn.MultiheadAttention(d, 8, batch_first=True) for _ in range(layers))
        self.n1, self.n2 = (nn.ModuleList(nn.LayerNorm(d) for _ in range(layers)) for _ in range(2))
        self.l1 = nn.ModuleList(nn.Linear(d, 512) for _ in range(layers))
        self.l2 = nn.ModuleList(nn.Linear(256, d) for _ in range(layers))
        self.last, self.head = nn.LayerNorm(d), nn.Linear(d, 1)

    def forward(self, x, c):
        t = torch.cat([self.w[None] * x[..., None], self.emb(c + self.off[None])], 1) + self.b
        t = torch.cat([self.cls.expand(x.shape[0], -1, -1), t], 1)
        for k in range(len(self.att)):
            h = self.n1[k](t)
            t = t + self.att[k](h, h, h, need_weights=False)[0]
            a, g = self.l1[k](self.n2[k](t)).chunk(2, -1)
            t = t + self.l2[k](a * F.relu(g))
        return self.head(F.relu(self.last(t[:, 0])))


def get_inputs():
    return [torch.randn(512, 24), torch.randint(0, 7, (512, 6))]

def get_init_inputs():
    return []
