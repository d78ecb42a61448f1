"""graphsage_mean: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Sage(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.l, self.r = nn.Linear(i, o), nn.Linear(i, o, bias=False)

    def forward(self, x, src, dst):
        n = x.shape[0]
        s = x.new_zeros(n, x.shape[1]).index_add_(0, dst, x.index_select(0, src))
        c = x.new_zeros(n).index_add_(0, dst, torch.ones_like(dst, dtype=x.dtype))
        return self.l(s / c.clamp(min=1).unsqueeze(-1)) + self.r(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = Sage(100, 256), Sage(256, 256), Sage(256, 47)

    def forward(self, x, src, dst):
        x = F.relu(F.normalize(self.a(x, src, dst), p=2.0, dim=-1))
        x = F.relu(F.normalize(self.b(x, src, dst), p=2.0, dim=-1))
        return self.c(x, src, dst).log_softmax(-1)


def get_inputs():
    return [torch.randn(20000, 100), torch.randint(0, 20000, (300000,)), torch.randint(0, 20000, (300000,))]

def get_init_inputs():
    return []
