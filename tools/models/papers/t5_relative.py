"""t5_relative: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, d=512, h=8, n=4):
        super().__init__()
        self.h, self.k = h, d // h
        self.bias = nn.Embedding(32, h)
        self.qkv = nn.ModuleList(nn.Linear(d, 3 * d, bias=False) for _ in range(n))
        self.o = nn.ModuleList(nn.Linear(d, d, bias=False) for _ in range(n))
        self.w = nn.ParameterList(nn.Parameter(torch.ones(d)) for _ in range(n))

    def bucket(self, rel, num=32, far=128):
        n = -rel
        num //= 2
        ret = (n < 0).long() * num
        n = n.abs()
        exact = num // 2
        small = n < exact
        large = exact + (torch.log(n.float() / exact) / math.log(far / exact) * (num - exact)).long()
        large = torch.min(large, torch.full_like(large, num - 1))
        return ret + torch.where(small, n, large)

    def forward(self, x, mask):
        b, n, d = x.shape
        i = torch.arange(n, device=x.device)
        bias = self.bias(self.bucket(i[None] - i[:, None])).permute(2, 0, 1).unsqueeze(0)
        bias = bias + (1.0 - mask[:, None, None].to(x.dtype)) * torch.finfo(x.dtype).min
        for qkv, o, w in zip(self.qkv, self.o, self.w):
            y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w
            q, k, v = qkv(y).view(b, n, 3, self.h, self.k).permute(2, 0, 3, 1, 4)
            s = torch.matmul(q, k.transpose(3, 2)) + bias
            a = F.softmax(s.float(), -1).type_as(s)
            x = x + o(torch.matmul(a, v).transpose(1, 2).contiguous().view(b, n, d))
        return x


def get_inputs():
    return [torch.randn(4, 256, 512), (torch.rand(4, 256) > 0.1).long()]

def get_init_inputs():
    return []
