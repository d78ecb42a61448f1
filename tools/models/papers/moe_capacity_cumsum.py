"""moe_capacity_cumsum: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    """Switch/GShard dispatch: one_hot, cumsum positions, capacity, einsum dispatch and combine."""
    def __init__(self, d=512, e=8, ff=1024, capacity_factor=1.25):
        super().__init__()
        self.e, self.cf = e, capacity_factor
        self.gate = nn.Linear(d, e, bias=False)
        self.w1 = nn.Parameter(torch.randn(e, d, ff) * .2)
        self.w2 = nn.Parameter(torch.randn(e, ff, d) * .2)

    def forward(self, x):
        b, s, d = x.shape
        tokens = x.reshape(-1, d)
        n = tokens.shape[0]
        cap = int(2 * self.cf * n / self.e)
        gates = F.softmax(self.gate(tokens), dim=1)
        i1 = torch.argmax(gates, dim=1)
        m1 = F.one_hot(i1, num_classes=self.e)
        logits2 = gates.masked_fill(m1.bool(), float("-inf"))
        i2 = torch.argmax(logits2, dim=1)
        m2 = F.one_hot(i2, num_classes=self.e)
        loc1 = torch.cumsum(m1, dim=0) - 1
        loc2 = torch.cumsum(m2, dim=0) - 1 + torch.sum(m1, dim=0, keepdim=True)
        l_aux = torch.mean(gates.mean(0) * m1.float().mean(0)) * self.e * self.e
        m1 = m1 * torch.lt(loc1, cap)
        m2 = m2 * torch.lt(loc2, cap)
        s1, s2 = torch.sum(loc1 * m1, dim=1), torch.sum(loc2 * m2, dim=1)
        g1, g2 = (gates * m1.float()).sum(1), (gates * m2).sum(1)
        denom = torch.clamp(g1 + g2, min=torch.finfo(g1.dtype).eps)
        g1, g2 = g1 / denom, g2 / denom
        combine = torch.einsum("se,sc->sec", g1[:, None] * m1.float(), F.one_hot(s1, cap).float()) \
            + torch.einsum("se,sc->sec", g2[:, None] * m2.float(), F.one_hot(s2, cap).float())
        dispatch = combine.bool()
        xs = torch.einsum("sec,sm->ecm", dispatch.type_as(x), tokens)
        h = torch.bmm(F.relu(torch.bmm(xs, self.w1)), self.w2)
        y = torch.einsum("sec,ecm->sm", combine, h)
        return y.view(b, s, d), l_aux


def get_inputs():
    return [torch.randn(4, 128, 512)]


def get_init_inputs():
    return []
