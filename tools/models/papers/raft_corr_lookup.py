"""raft_corr_lookup: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, d=128, radius=4):
        super().__init__()
        self.r = radius
        self.enc = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3), nn.InstanceNorm2d(64), nn.ReLU(), nn.Conv2d(64, 96, 3, 2, 1), nn.InstanceNorm2d(96), nn.ReLU(),
                                 nn.Conv2d(96, d, 3, 2, 1))
        self.mot = nn.Sequential(nn.Conv2d(81, 96, 1), nn.ReLU(), nn.Conv2d(96, 64, 3, padding=1), nn.ReLU())
        self.z, self.q = nn.Conv2d(64 + d, d, (1, 5), padding=(0, 2)), nn.Conv2d(64 + d, d, (1, 5), padding=(0, 2))
        self.flow = nn.Sequential(nn.Conv2d(d, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 2, 3, padding=1))

    def forward(self, a, b):
        f1, f2 = self.enc(a), self.enc(b)
        n, d, h, w = f1.shape
        corr = (f1.flatten(2).transpose(1, 2) @ f2.flatten(2)).view(n * h * w, 1, h, w) / math.sqrt(d)
        ys, xs = torch.meshgrid(torch.arange(h, device=a.device), torch.arange(w, device=a.device), indexing="ij")
        base = torch.stack([xs, ys]).float()[None].repeat(n, 1, 1, 1)
        flow = torch.zeros_like(base)
        net = torch.tanh(f1)
        o = torch.linspace(-self.r, self.r, 2 * self.r + 1, device=a.device)
        delta = torch.stack(torch.meshgrid(o, o, indexing="ij"), -1).view(1, 9, 9, 2)
        for _ in range(3):
            c = (base + flow).permute(0, 2, 3, 1).reshape(n * h * w, 1, 1, 2) + delta
            gx, gy = c.split([1, 1], -1)
            grid = torch.cat([2 * gx / (w - 1) - 1, 2 * gy / (h - 1) - 1], -1)
            look = F.grid_sample(corr, grid, align_corners=True).view(n, h, w, -1).permute(0, 3, 1, 2)
            m = self.mot(look)
            hx = torch.cat([net, m], 1)
            z = torch.sigmoid(self.z(hx))
            net = (1 - z) * net + z * torch.tanh(self.q(hx))
            flow = flow + self.flow(net)
        return flow


def get_inputs():
    return [torch.randn(1, 3, 256, 320), torch.randn(1, 3, 256, 320)]

def get_init_inputs():
    return []
