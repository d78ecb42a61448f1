"""seq2seq_attention: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, v=10000, d=256, steps=20):
        super().__init__()
        self.e, self.t = nn.Embedding(v, d), nn.Embedding(v, d)
        self.enc = nn.GRU(d, d, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * d, d)
        self.cell = nn.GRUCell(3 * d, d)
        self.W, self.U, self.va = nn.Linear(d, d), nn.Linear(2 * d, d), nn.Linear(d, 1)
        self.out = nn.Linear(d, v)

    def forward(self, src, tgt):
        mem, h = self.enc(self.e(src))
        h = torch.tanh(self.bridge(torch.cat([h[0], h[1]], 1)))
        keys = self.U(mem)
        outs = []
        for k in range(tgt.shape[1]):
            a = self.va(torch.tanh(self.W(h).unsqueeze(1) + keys)).squeeze(-1).softmax(-1)
            ctx = torch.bmm(a.unsqueeze(1), mem).squeeze(1)
            h = self.cell(torch.cat([self.t(tgt[:, k]), ctx], 1), h)
            outs.append(h)
        return self.out(torch.stack(outs, 1))


def get_inputs():
    return [torch.randint(0, 10000, (32, 40)), torch.randint(0, 10000, (32, 20))]

def get_init_inputs():
    return []
