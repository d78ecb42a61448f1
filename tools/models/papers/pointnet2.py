"""pointnet2: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

def square_distance(a, b):
    return (a ** 2).sum(-1, keepdim=True) + (b ** 2).sum(-1).unsqueeze(1) - 2 * a @ b.transpose(1, 2)


def index_points(points, idx):
    b = points.shape[0]
    batch = torch.arange(b, device=points.device).view([b] + [1] * (idx.dim() - 1)).expand_as(idx)
    return points[batch, idx, :]


class SetAbstraction(nn.Module):
    def __init__(self, stride, radius, k, cin, widths):
        super().__init__()
        self.stride, self.radius, self.k = stride, radius, k
        self.convs = nn.ModuleList()
        self.bns = nn.ModuleList()
        for w in widths:
            self.convs.append(nn.Conv2d(cin, w, 1))
            self.bns.append(nn.BatchNorm2d(w))
            cin = w

    def forward(self, xyz, feat):
        new = xyz[:, :: self.stride]
        d = square_distance(new, xyz)
        idx = torch.topk(d, self.k, dim=-1, largest=False, sorted=False)[1]
        grouped = index_points(xyz, idx) - new.unsqueeze(2)
        if feat is not None:
            grouped = torch.cat([grouped, index_points(feat, idx)], -1)
        x = grouped.permute(0, 3, 2, 1)
        for conv, bn in zip(self.convs, self.bns):
            x = F.relu(bn(conv(x)))
        return new, torch.max(x, 2)[0].permute(0, 2, 1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.sa1 = SetAbstraction(2, 0.2, 32, 3, [64, 64, 128])
        self.sa2 = SetAbstraction(4, 0.4, 32, 131, [128, 128, 256])
        self.mlp = nn.Sequential(nn.Linear(259, 512), nn.ReLU(), nn.Linear(512, 1024), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(1024, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Dropout(0.4), nn.Linear(512, 40))

    def forward(self, xyz):
        p, f = self.sa1(xyz, None)
        p, f = self.sa2(p, f)
        x = self.mlp(torch.cat([p, f], -1)).max(1)[0]
        return F.log_softmax(self.head(x), -1)


def get_inputs():
    return [torch.rand(8, 1024, 3)]

def get_init_inputs():
    return []
