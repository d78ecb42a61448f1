"""xlstm_mlstm: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    """mLSTM, parallel form, stabilised."""
    def __init__(self, d=512, h=8):
        super().__init__()
        self.h = h
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.i, self.f, self.o = nn.Linear(3 * d, h), nn.Linear(3 * d, h), nn.Linear(d, d)
        self.norm = nn.GroupNorm(h, d)

    def forward(self, x):
        B, S, D = x.shape
        q, k, v = self.q(x), self.k(x), self.v(x)
        gates = torch.cat([q, k, v], -1)
        ig, fg = self.i(gates).transpose(1, 2).unsqueeze(-1), self.f(gates).transpose(1, 2).unsqueeze(-1)
        q, k, v = (t.view(B, S, self.h, -1).transpose(1, 2) for t in (q, k, v))
        log_f = F.logsigmoid(fg)
        ltr = torch.tril(torch.ones((S, S), dtype=torch.bool, device=x.device))
        log_cum = torch.cat([torch.zeros((B, self.h, 1, 1), dtype=x.dtype), torch.cumsum(log_f, dim=-2)], dim=-2)
        rep = log_cum.repeat(1, 1, 1, S + 1)
        _log_fg = rep - rep.transpose(-2, -1)
        log_fg = torch.where(ltr, _log_fg[:, :, 1:, 1:], -float("inf"))
        log_D = log_fg + ig.transpose(-2, -1)
        max_log_D, _ = torch.max(log_D, dim=-1, keepdim=True)
        Dm = torch.exp(log_D - max_log_D)
        C = (q @ (k / math.sqrt(k.shape[-1])).transpose(-2, -1)) * Dm
        n = torch.maximum(C.sum(dim=-1, keepdim=True).abs(), torch.exp(-max_log_D))
        h = (C / (n + 1e-6)) @ v
        h = self.norm(h.transpose(1, 2).reshape(B * S, D)).view(B, S, D)
        return torch.sigmoid(self.o(x)) * h


def get_inputs():
    return [torch.randn(4, 256, 512)]


def get_init_inputs():
    return []
