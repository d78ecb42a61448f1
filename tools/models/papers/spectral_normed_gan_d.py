"""spectral_normed_gan_d: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

from torch.nn.utils import spectral_norm


class Model(nn.Module):
    def __init__(self, f=64):
        super().__init__()
        self.c1 = spectral_norm(nn.Conv2d(3, f, 4, 2, 1))
        self.c2, self.c3 = spectral_norm(nn.Conv2d(f, 2 * f, 4, 2, 1)), spectral_norm(nn.Conv2d(2 * f, 4 * f, 4, 2, 1))
        self.q, self.k, self.v = (spectral_norm(nn.Conv2d(4 * f, c, 1)) for c in (f // 2, f // 2, 4 * f))
        self.gamma = nn.Parameter(torch.tensor(0.5))
        self.out = spectral_norm(nn.Linear(4 * f, 1))
        self.emb = spectral_norm(nn.Embedding(1000, 4 * f))

    def forward(self, x, y):
        x = F.leaky_relu(self.c3(F.leaky_relu(self.c2(F.leaky_relu(self.c1(x), 0.1)), 0.1)), 0.1)
        b, c, h, w = x.shape
        a = torch.bmm(self.q(x).flatten(2).permute(0, 2, 1), self.k(x).flatten(2)).softmax(-1)
        x = x + self.gamma * torch.bmm(self.v(x).flatten(2), a.permute(0, 2, 1)).view(b, c, h, w)
        x = F.relu(x).sum([2, 3])
        return self.out(x) + (x * self.emb(y)).sum(1, keepdim=True)


def get_inputs():
    return [torch.randn(16, 3, 64, 64), torch.randint(0, 1000, (16,))]

def get_init_inputs():
    return []
