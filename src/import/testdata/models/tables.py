"""In the manner of papers and their repositories: recommenders, tabular data, quantized layers."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MmoeRecommender(nn.Module):
    def __init__(self, fields=20, rows=5000, d=16, e=6, tasks=2):
        super().__init__()
        self.emb = nn.ModuleList(nn.Embedding(rows, d) for _ in range(fields))
        i = fields * d
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(i, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU()) for _ in range(e))
        self.gates = nn.ModuleList(nn.Linear(i, e, bias=False) for _ in range(tasks))
        self.towers = nn.ModuleList(nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1)) for _ in range(tasks))

    def forward(self, x):
        h = torch.cat([e(x[:, k]) for k, e in enumerate(self.emb)], 1)
        ex = torch.stack([e(h) for e in self.experts], 1)
        return torch.cat([t((g(h).softmax(-1).unsqueeze(-1) * ex).sum(1)).sigmoid() for g, t in zip(self.gates, self.towers)], 1)


class Ncf(nn.Module):
    def __init__(self, users=60000, items=20000, f=32):
        super().__init__()
        self.ug, self.ig = nn.Embedding(users, f), nn.Embedding(items, f)
        self.um, self.im = nn.Embedding(users, f * 4), nn.Embedding(items, f * 4)
        layers = []
        for w in (f * 8, f * 4, f * 2):
            layers += [nn.Dropout(0.1), nn.Linear(w, w // 2), nn.ReLU()]
        self.mlp = nn.Sequential(*layers)
        self.out = nn.Linear(f * 2, 1)

    def forward(self, user, item):
        gmf = self.ug(user) * self.ig(item)
        mlp = self.mlp(torch.cat((self.um(user), self.im(item)), -1))
        return self.out(torch.cat((gmf, mlp), -1)).view(-1)


class DcnV2(nn.Module):
    def __init__(self, fields=26, rows=10000, d=16, layers=3):
        super().__init__()
        self.emb = nn.Embedding(fields * rows, d)
        self.register_buffer("off", torch.arange(fields) * rows)
        n = fields * d + 13
        self.bn = nn.BatchNorm1d(13)
        self.cross = nn.ModuleList(nn.Linear(n, n) for _ in range(layers))
        self.deep = nn.Sequential(nn.Linear(n, 768), nn.ReLU(), nn.Linear(768, 768), nn.ReLU())
        self.out = nn.Linear(768 + n, 1)

    def forward(self, dense, cats):
        x0 = torch.cat([self.emb(cats + self.off).flatten(1), self.bn(torch.log1p(dense.abs()))], 1)
        x = x0
        for c in self.cross:
            x = x0 * c(x) + x
        return torch.sigmoid(self.out(torch.cat([x, self.deep(x0)], 1)))


class Sasrec(nn.Module):
    def __init__(self, items=50000, d=64, blocks=2, heads=1, length=200):
        super().__init__()
        self.item, self.pos = nn.Embedding(items + 1, d, padding_idx=0), nn.Embedding(length, d)
        self.an = nn.ModuleList(nn.LayerNorm(d, eps=1e-8) for _ in range(blocks))
        self.al = nn.ModuleList(nn.MultiheadAttention(d, heads, 0.2) for _ in range(blocks))
        self.fn = nn.ModuleList(nn.LayerNorm(d, eps=1e-8) for _ in range(blocks))
        self.f1 = nn.ModuleList(nn.Conv1d(d, d, 1) for _ in range(blocks))
        self.f2 = nn.ModuleList(nn.Conv1d(d, d, 1) for _ in range(blocks))
        self.last = nn.LayerNorm(d, eps=1e-8)
        self.d = d

    def forward(self, seq, candidates):
        x = self.item(seq) * self.d ** 0.5
        x = x + self.pos(torch.arange(seq.shape[1], device=seq.device)).unsqueeze(0)
        pad = seq == 0
        x = x * (~pad).unsqueeze(-1)
        n = seq.shape[1]
        mask = ~torch.tril(torch.ones((n, n), dtype=torch.bool, device=seq.device))
        for an, al, fn, f1, f2 in zip(self.an, self.al, self.fn, self.f1, self.f2):
            x = x.transpose(0, 1)
            q = an(x)
            y, _ = al(q, x, x, attn_mask=mask)
            x = (q + y).transpose(0, 1)
            h = fn(x)
            x = h + f2(F.relu(f1(h.transpose(-1, -2)))).transpose(-1, -2)
            x = x * (~pad).unsqueeze(-1)
        final = self.last(x)[:, -1, :]
        return self.item(candidates).matmul(final.unsqueeze(-1)).squeeze(-1)


def sparsemax(z):
    s, _ = torch.sort(z, descending=True, dim=-1)
    r = torch.arange(1, z.shape[-1] + 1, device=z.device, dtype=z.dtype)
    c = torch.cumsum(s, -1) - 1
    k = (r * s > c).sum(-1, keepdim=True)
    tau = c.gather(-1, k - 1) / k.to(z.dtype)
    return torch.clamp(z - tau, min=0)


class GLUBlock(nn.Module):
    def __init__(self, i, o, fc=None):
        super().__init__()
        self.fc, self.bn = fc or nn.Linear(i, 2 * o, bias=False), nn.BatchNorm1d(2 * o)

    def forward(self, x):
        return F.glu(self.bn(self.fc(x)))


class Feature(nn.Module):
    def __init__(self, i, o, shared):
        super().__init__()
        self.s1, self.s2 = GLUBlock(i, o, shared[0]), GLUBlock(o, o, shared[1])
        self.d1, self.d2 = GLUBlock(o, o), GLUBlock(o, o)

    def forward(self, x):
        x = self.s1(x)
        for f in (self.s2, self.d1, self.d2):
            x = (x + f(x)) * math.sqrt(0.5)
        return x


class Tabnet(nn.Module):
    def __init__(self, i=54, d=64, a=64, steps=5, classes=7):
        super().__init__()
        shared = nn.ModuleList([nn.Linear(i, 2 * (d + a), bias=False), nn.Linear(d + a, 2 * (d + a), bias=False)])
        self.bn = nn.BatchNorm1d(i)
        self.first = Feature(i, d + a, shared)
        self.feat = nn.ModuleList(Feature(i, d + a, shared) for _ in range(steps))
        self.att = nn.ModuleList(nn.Sequential(nn.Linear(a, i, bias=False), nn.BatchNorm1d(i)) for _ in range(steps))
        self.out, self.d = nn.Linear(d, classes), d

    def forward(self, x):
        x = self.bn(x)
        prior = torch.ones_like(x)
        h = self.first(x)[:, self.d:]
        total, loss = 0, 0
        for f, at in zip(self.feat, self.att):
            m = sparsemax(at(h) * prior)
            loss = loss + (m * torch.log(m + 1e-15)).sum(1).mean()
            prior = prior * (1.3 - m)
            o = f(m * x)
            total = total + F.relu(o[:, : self.d])
            h = o[:, self.d:]
        return self.out(total), loss


class TabularResnetWide(nn.Module):
    def __init__(self, i=100, d=512, n=6):
        super().__init__()
        self.first = nn.Linear(i, d)
        self.b = nn.ModuleList(nn.Sequential(nn.BatchNorm1d(d), nn.Linear(d, 2 * d), nn.ReLU(), nn.Dropout(0.2), nn.Linear(2 * d, d)) for _ in range(n))
        self.last = nn.Sequential(nn.BatchNorm1d(d), nn.ReLU(), nn.Linear(d, 1))

    def forward(self, x):
        x = self.first(x)
        for b in self.b:
            x = x + b(x)
        return self.last(x).squeeze(-1)


class FtTransformer(nn.Module):
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


class EmbeddingBagsInt8(nn.Module):
    def __init__(self, rows=50000, d=64, tables=8):
        super().__init__()
        for k in range(tables):
            self.register_buffer(f"w{k}", torch.randint(-127, 128, (rows, d), dtype=torch.int8))
            self.register_buffer(f"s{k}", torch.rand(rows) * 0.01)
        self.tables = tables
        self.mlp = nn.Sequential(nn.Linear(tables * d, 256), nn.ReLU(), nn.Linear(256, 1))

    def forward(self, idx, mask):
        out = []
        for k in range(self.tables):
            i = idx[:, k]
            w = getattr(self, f"w{k}")[i].float() * getattr(self, f"s{k}")[i].unsqueeze(-1)
            m = mask[:, k].unsqueeze(-1)
            out.append((w * m).sum(1) / m.sum(1).clamp(min=1))
        return torch.sigmoid(self.mlp(torch.cat(out, 1)))


class EmbeddingBagModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(95812, 64, mode="mean")
        self.fc = nn.Linear(64, 4)

    def forward(self, text, offsets):
        return self.fc(self.bag(text, offsets))


class QLinear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.register_buffer("w", torch.randint(-128, 128, (o, i), dtype=torch.int8))
        self.register_buffer("s", torch.rand(o, 1).half() * 0.001)
        self.b = nn.Parameter(torch.zeros(o).half())

    def forward(self, x):
        return F.linear(x, self.w.to(x.dtype) * self.s, self.b)


class QuantizedLinearInt8(nn.Module):
    def __init__(self, d=1024):
        super().__init__()
        self.n = nn.LayerNorm(d).half()
        self.u, self.d = QLinear(d, 4 * d), QLinear(4 * d, d)

    def forward(self, x):
        return x + self.d(F.gelu(self.u(self.n(x))))


class Mdn(nn.Module):
    def __init__(self, i=32, h=256, k=8, o=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(i, h), nn.Tanh(), nn.Linear(h, h), nn.Tanh())
        self.pi, self.mu, self.s = nn.Linear(h, k), nn.Linear(h, k * o), nn.Linear(h, k * o)
        self.k, self.o = k, o

    def forward(self, x, y):
        h = self.net(x)
        lp = F.log_softmax(self.pi(h), -1)
        mu = self.mu(h).view(-1, self.k, self.o)
        s = F.elu(self.s(h)).view(-1, self.k, self.o) + 1 + 1e-6
        ll = -0.5 * ((y.unsqueeze(1) - mu) / s) ** 2 - torch.log(s) - 0.5 * math.log(2 * math.pi)
        return -torch.logsumexp(lp + ll.sum(-1), 1)


class KANLinear(nn.Module):
    def __init__(self, i, o, grid=5, order=3):
        super().__init__()
        self.i, self.o, self.order = i, o, order
        h = 2 / grid
        g = (torch.arange(-order, grid + order + 1) * h - 1).expand(i, -1).contiguous()
        self.register_buffer("grid", g)
        self.base, self.spline = nn.Parameter(torch.randn(o, i) * 0.1), nn.Parameter(torch.randn(o, i, grid + order) * 0.1)
        self.scaler = nn.Parameter(torch.ones(o, i))

    def forward(self, x):
        g = self.grid
        z = x.unsqueeze(-1)
        b = ((z >= g[:, :-1]) & (z < g[:, 1:])).to(x.dtype)
        for k in range(1, self.order + 1):
            b = (z - g[:, : -(k + 1)]) / (g[:, k:-1] - g[:, : -(k + 1)]) * b[:, :, :-1] + (g[:, k + 1:] - z) / (g[:, k + 1:] - g[:, 1:(-k)]) * b[:, :, 1:]
        return F.linear(F.silu(x), self.base) + F.linear(b.reshape(x.size(0), -1), (self.spline * self.scaler.unsqueeze(-1)).view(self.o, -1))


class Kan(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Sequential(KANLinear(784, 64), KANLinear(64, 64), KANLinear(64, 10))

    def forward(self, x):
        return self.l(x)


# Name, what builds it, what it is called with, and in which half precision people run it, too.
MODELS = [
    ("mmoe_recommender", "MmoeRecommender()", ["torch.randint(0, 5000, (4096, 20))"]),
    ("ncf", "Ncf()", ["torch.randint(0, 60000, (16384,))", "torch.randint(0, 20000, (16384,))"]),
    ("dcn_v2", "DcnV2()", ["torch.randn(4096, 13)", "torch.randint(0, 10000, (4096, 26))"]),
    ("sasrec", "Sasrec()", ["torch.randint(0, 50000, (128, 200))", "torch.randint(1, 50000, (128, 101))"]),
    ("tabnet", "Tabnet()", ["torch.randn(4096, 54)"]),
    ("tabular_resnet_wide", "TabularResnetWide()", ["torch.randn(1024, 100)"]),
    ("ft_transformer", "FtTransformer()", ["torch.randn(512, 24)", "torch.randint(0, 7, (512, 6))"]),
    ("embedding_bags_int8", "EmbeddingBagsInt8()", ["torch.randint(0, 50000, (2048, 8, 20))", "(torch.rand(2048, 8, 20) > 0.3).float()"]),
    ("embedding_bag_module", "EmbeddingBagModule()", ["torch.randint(0, 95812, (64 * 40,))", "torch.arange(0, 64 * 40, 40)"]),
    ("quantized_linear_int8", "QuantizedLinearInt8()", ["torch.randn(8, 1, 1024, dtype=torch.float16)"]),
    ("mdn", "Mdn()", ["torch.randn(8192, 32)", "torch.randn(8192, 4)"]),
    ("kan", "Kan()", ["torch.rand(512, 784) * 2 - 1"]),
]
