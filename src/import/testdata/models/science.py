"""In the manner of papers and their repositories: graphs, molecules, point clouds, differential equations."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class GinReadout(nn.Module):
    def __init__(self, i=32, d=128, layers=4, classes=10):
        super().__init__()
        self.mlp = nn.ModuleList(nn.Sequential(nn.Linear(i if k == 0 else d, d), nn.BatchNorm1d(d), nn.ReLU(), nn.Linear(d, d), nn.ReLU()) for k in range(layers))
        self.eps = nn.Parameter(torch.zeros(layers))
        self.head = nn.Linear(d * layers, classes)

    def forward(self, x, edges, batch):
        outs = []
        for k, mlp in enumerate(self.mlp):
            agg = torch.zeros_like(x).scatter_add_(0, edges[1].unsqueeze(1).expand(-1, x.shape[1]), x[edges[0]])
            x = mlp((1 + self.eps[k]) * x + agg)
            outs.append(torch.zeros(256, x.shape[1], device=x.device).index_add_(0, batch, x))
        return self.head(torch.cat(outs, 1))


class GATv2(nn.Module):
    def __init__(self, i, o, h):
        super().__init__()
        self.h, self.o = h, o
        self.l, self.r = nn.Linear(i, h * o), nn.Linear(i, h * o)
        self.a = nn.Parameter(torch.randn(1, h, o) * 0.1)
        self.bias = nn.Parameter(torch.zeros(h * o))

    def forward(self, x, src, dst):
        n = x.shape[0]
        xl, xr = self.l(x).view(-1, self.h, self.o), self.r(x).view(-1, self.h, self.o)
        e = (F.leaky_relu(xl[src] + xr[dst], 0.2) * self.a).sum(-1)
        index = dst.unsqueeze(-1).expand_as(e)
        m = torch.full((n, self.h), -1e9, device=x.device, dtype=x.dtype).scatter_reduce(0, index, e, "amax", include_self=True)
        w = (e - m[dst]).exp()
        z = torch.zeros(n, self.h, device=x.device, dtype=x.dtype).scatter_add(0, index, w)
        w = w / (z[dst] + 1e-16)
        out = torch.zeros(n, self.h, self.o, device=x.device, dtype=x.dtype)
        out = out.index_add(0, dst, xl[src] * w.unsqueeze(-1))
        return out.flatten(1) + self.bias


class Gatv2Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = GATv2(128, 32, 8), GATv2(256, 40, 1)

    def forward(self, x, edges):
        x = F.elu(self.c1(x, edges[0], edges[1]))
        return F.log_softmax(self.c2(x, edges[0], edges[1]), -1)


class Sage(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.l, self.r = nn.Linear(i, o), nn.Linear(i, o, bias=False)

    def forward(self, x, src, dst):
        n = x.shape[0]
        s = x.new_zeros(n, x.shape[1]).index_add_(0, dst, x.index_select(0, src))
        c = x.new_zeros(n).index_add_(0, dst, torch.ones_like(dst, dtype=x.dtype))
        return self.l(s / c.clamp(min=1).unsqueeze(-1)) + self.r(x)


class GraphsageMean(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = Sage(100, 256), Sage(256, 256), Sage(256, 47)

    def forward(self, x, src, dst):
        x = F.relu(F.normalize(self.a(x, src, dst), p=2.0, dim=-1))
        x = F.relu(F.normalize(self.b(x, src, dst), p=2.0, dim=-1))
        return self.c(x, src, dst).log_softmax(-1)


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.e = nn.Sequential(nn.Linear(2 * d + 1, d), nn.SiLU(), nn.Linear(d, d), nn.SiLU())
        self.n = nn.Sequential(nn.Linear(2 * d, d), nn.SiLU(), nn.Linear(d, d))
        self.c = nn.Sequential(nn.Linear(d, d), nn.SiLU(), nn.Linear(d, 1, bias=False))

    def forward(self, h, x, row, col):
        diff = x[row] - x[col]
        r = diff.pow(2).sum(1, keepdim=True)
        m = self.e(torch.cat([h[row], h[col], r], 1))
        diff = diff / (torch.sqrt(r) + 1.0)
        trans = (diff * self.c(m)).clamp(-100, 100)
        n = torch.zeros(h.shape[0], 1, device=h.device).index_add(0, row, torch.ones_like(r))
        x = x + torch.zeros_like(x).index_add(0, row, trans) / n.clamp(min=1)
        agg = torch.zeros_like(h).index_add(0, row, m)
        return h + self.n(torch.cat([h, agg], 1)), x


class Egnn(nn.Module):
    def __init__(self, d=128, layers=4):
        super().__init__()
        self.emb, self.layers = nn.Linear(16, d), nn.ModuleList(Layer(d) for _ in range(layers))

    def forward(self, h, x, row, col):
        h = self.emb(h)
        for l in self.layers:
            h, x = l(h, x, row, col)
        return h, x


class Schnet(nn.Module):
    def __init__(self, d=128, gauss=50, n=3):
        super().__init__()
        self.emb = nn.Embedding(100, d)
        self.register_buffer("mu", torch.linspace(0, 10, gauss))
        self.f1 = nn.ModuleList(nn.Linear(gauss, d) for _ in range(n))
        self.f2 = nn.ModuleList(nn.Linear(d, d) for _ in range(n))
        self.i = nn.ModuleList(nn.Linear(d, d, bias=False) for _ in range(n))
        self.o1 = nn.ModuleList(nn.Linear(d, d) for _ in range(n))
        self.o2 = nn.ModuleList(nn.Linear(d, d) for _ in range(n))
        self.h1, self.h2 = nn.Linear(d, d // 2), nn.Linear(d // 2, 1)

    def forward(self, z, pos, src, dst, batch):
        ssp = lambda x: F.softplus(x) - math.log(2.0)
        x = self.emb(z)
        r = (pos[src] - pos[dst]).norm(dim=-1)
        g = torch.exp(-0.5 / (10 / 49) ** 2 * (r.unsqueeze(-1) - self.mu) ** 2)
        cut = 0.5 * (torch.cos(r * math.pi / 10.0) + 1.0) * (r < 10.0).to(r.dtype)
        for k in range(len(self.i)):
            w = self.f2[k](ssp(self.f1[k](g))) * cut.unsqueeze(-1)
            m = self.i[k](x)[src] * w
            agg = torch.zeros_like(x).index_add(0, dst, m)
            x = x + self.o2[k](ssp(self.o1[k](agg)))
        e = self.h2(ssp(self.h1(x)))
        return torch.zeros(64, 1, device=pos.device).index_add(0, batch, e)


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


class Pointnet2(nn.Module):
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


class AlphafoldEvoformer(nn.Module):
    """Row attention with pair bias, outer product mean, triangle updates."""
    def __init__(self, m=256, z=128, h=8):
        super().__init__()
        self.h = h
        self.nm, self.nz = nn.LayerNorm(m), nn.LayerNorm(z)
        self.q, self.k, self.v = (nn.Linear(m, m, bias=False) for _ in range(3))
        self.g, self.o = nn.Linear(m, m), nn.Linear(m, m)
        self.b = nn.Linear(z, h, bias=False)
        self.l, self.r, self.opm = nn.Linear(m, 32), nn.Linear(m, 32), nn.Linear(1024, z)
        self.ag, self.ap, self.bg, self.bp, self.tg, self.tz = (nn.Linear(z, z) for _ in range(6))
        self.tn = nn.LayerNorm(z)

    def forward(self, msa, pair, mask):
        B, S, N, M = msa.shape
        x = self.nm(msa)
        q, k, v = (f(x).view(B, S, N, self.h, -1) for f in (self.q, self.k, self.v))
        bias = self.b(self.nz(pair)).permute(0, 3, 1, 2)[:, None]
        logits = torch.einsum("bsihc,bsjhc->bshij", q / math.sqrt(q.shape[-1]), k) + bias + (1e9 * (mask - 1))[:, :, None, None, :]
        o = torch.einsum("bshij,bsjhc->bsihc", logits.softmax(-1), v) * self.g(x).sigmoid().view(B, S, N, self.h, -1)
        msa = msa + self.o(o.flatten(-2))
        a, b = self.l(msa) * mask[..., None], self.r(msa) * mask[..., None]
        outer = torch.einsum("bsic,bsjd->bijcd", a, b)
        norm = torch.einsum("bsi,bsj->bij", mask, mask)[..., None] + 1e-3
        pair = pair + self.opm(outer.flatten(-2)) / norm
        z = self.nz(pair)
        a, b = self.ag(z).sigmoid() * self.ap(z), self.bg(z).sigmoid() * self.bp(z)
        pair = pair + self.tg(z).sigmoid() * self.tz(self.tn(torch.einsum("bikc,bjkc->bijc", a, b)))
        return msa, pair


class Spectral(nn.Module):
    def __init__(self, c, m):
        super().__init__()
        self.m = m
        self.w1, self.w2 = (nn.Parameter(torch.randn(c, c, m, m, 2) / c) for _ in range(2))

    def forward(self, x):
        b, c, h, w = x.shape
        f = torch.fft.rfft2(x)
        out = torch.zeros(b, c, h, w // 2 + 1, dtype=torch.cfloat, device=x.device)
        m = self.m
        out[:, :, :m, :m] = torch.einsum("bixy,ioxy->boxy", f[:, :, :m, :m], torch.view_as_complex(self.w1))
        out[:, :, -m:, :m] = torch.einsum("bixy,ioxy->boxy", f[:, :, -m:, :m], torch.view_as_complex(self.w2))
        return torch.fft.irfft2(out, s=(h, w))


class FourierNeuralOperator(nn.Module):
    def __init__(self, c=32, m=12):
        super().__init__()
        self.p = nn.Linear(3, c)
        self.s, self.w = nn.ModuleList(Spectral(c, m) for _ in range(4)), nn.ModuleList(nn.Conv2d(c, c, 1) for _ in range(4))
        self.q1, self.q2 = nn.Linear(c, 128), nn.Linear(128, 1)

    def forward(self, a):
        b, h, w, _ = a.shape
        gx = torch.linspace(0, 1, h, device=a.device).view(1, h, 1, 1).expand(b, h, w, 1)
        gy = torch.linspace(0, 1, w, device=a.device).view(1, 1, w, 1).expand(b, h, w, 1)
        x = self.p(torch.cat([a, gx, gy], -1)).permute(0, 3, 1, 2)
        for k, (s, w) in enumerate(zip(self.s, self.w)):
            x = s(x) + w(x)
            if k < 3:
                x = F.gelu(x)
        return self.q2(F.gelu(self.q1(x.permute(0, 2, 3, 1))))


class SpectralConv2d(nn.Module):
    def __init__(self, i, o, m1, m2):
        super().__init__()
        self.o, self.m1, self.m2 = o, m1, m2
        s = 1 / (i * o)
        self.w1, self.w2 = nn.Parameter(s * torch.rand(i, o, m1, m2, dtype=torch.cfloat)), nn.Parameter(s * torch.rand(i, o, m1, m2, dtype=torch.cfloat))

    def forward(self, x):
        b = x.shape[0]
        ft = torch.fft.rfft2(x)
        out = torch.zeros(b, self.o, x.size(-2), x.size(-1) // 2 + 1, dtype=torch.cfloat, device=x.device)
        out[:, :, :self.m1, :self.m2] = torch.einsum("bixy,ioxy->boxy", ft[:, :, :self.m1, :self.m2], self.w1)
        out[:, :, -self.m1:, :self.m2] = torch.einsum("bixy,ioxy->boxy", ft[:, :, -self.m1:, :self.m2], self.w2)
        return torch.fft.irfft2(out, s=(x.size(-2), x.size(-1)))


class Fno2dModes(nn.Module):
    def __init__(self, w=32, m=12):
        super().__init__()
        self.p, self.q1, self.q2 = nn.Linear(3, w), nn.Linear(w, 12), nn.Linear(12, 1)
        self.spec, self.ws = nn.ModuleList([SpectralConv2d(w, w, m, m) for _ in range(2)]), nn.ModuleList([nn.Conv2d(w, w, 1) for _ in range(2)])

    def grid(self, shape):
        b, sx, sy = shape[0], shape[1], shape[2]
        gx = torch.linspace(0, 1, sx).reshape(1, sx, 1, 1).repeat([b, 1, sy, 1])
        gy = torch.linspace(0, 1, sy).reshape(1, 1, sy, 1).repeat([b, sx, 1, 1])
        return torch.cat((gx, gy), dim=-1)

    def forward(self, x):
        x = self.p(torch.cat((x, self.grid(x.shape)), dim=-1)).permute(0, 3, 1, 2)
        x = F.pad(x, [0, 3, 0, 3])
        for s, w in zip(self.spec, self.ws):
            x = F.gelu(s(x) + w(x))
        x = x[..., :-3, :-3].permute(0, 2, 3, 1)
        return self.q2(F.gelu(self.q1(x)))


class NeuralOdeRk4(nn.Module):
    def __init__(self, d=64, h=256, steps=8):
        super().__init__()
        self.f1, self.f2, self.f3 = nn.Linear(d + 1, h), nn.Linear(h, h), nn.Linear(h, d)
        self.steps = steps

    def f(self, t, x):
        t = torch.full_like(x[:, :1], t)
        return self.f3(torch.tanh(self.f2(torch.tanh(self.f1(torch.cat([x, t], 1))))))

    def forward(self, x):
        dt = 1.0 / self.steps
        for k in range(self.steps):
            t = k * dt
            k1 = self.f(t, x)
            k2 = self.f(t + dt / 2, x + dt / 2 * k1)
            k3 = self.f(t + dt / 2, x + dt / 2 * k2)
            k4 = self.f(t + dt, x + dt * k3)
            x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return x


class PinnGrad(nn.Module):
    """A PINN residual: derivatives by torch.autograd.grad inside forward."""
    def __init__(self, h=128):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, h), nn.Tanh(), nn.Linear(h, h), nn.Tanh(), nn.Linear(h, 1))

    def forward(self, x, t):
        x = x.detach().clone().requires_grad_(True)
        t = t.detach().clone().requires_grad_(True)
        with torch.enable_grad():
            u = self.net(torch.cat([x, t], 1))
            u_t = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
            u_x = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
            u_xx = torch.autograd.grad(u_x, x, torch.ones_like(u_x), create_graph=True)[0]
        return u, u_t + u * u_x - 0.01 / math.pi * u_xx


class SinkhornOt(nn.Module):
    def __init__(self, d=128, iters=20):
        super().__init__()
        self.f, self.bin, self.iters = nn.Linear(d, d), nn.Parameter(torch.tensor(1.)), iters

    def forward(self, a, b):
        s = torch.einsum("bnd,bmd->bnm", self.f(a), self.f(b)) / a.shape[-1] ** .5
        bs, m, n = s.shape
        one = s.new_tensor(1)
        ms, ns = (m * one).to(s), (n * one).to(s)
        alpha = self.bin
        Z = torch.cat([torch.cat([s, alpha.expand(bs, m, 1)], -1), torch.cat([alpha.expand(bs, 1, n), alpha.expand(bs, 1, 1)], -1)], 1)
        norm = -(ms + ns).log()
        lmu = torch.cat([norm.expand(m), ns.log()[None] + norm])[None].expand(bs, -1)
        lnu = torch.cat([norm.expand(n), ms.log()[None] + norm])[None].expand(bs, -1)
        u, v = torch.zeros_like(lmu), torch.zeros_like(lnu)
        for _ in range(self.iters):
            u = lmu - torch.logsumexp(Z + v.unsqueeze(1), dim=2)
            v = lnu - torch.logsumexp(Z + u.unsqueeze(2), dim=1)
        P = Z + u.unsqueeze(2) + v.unsqueeze(1) - norm
        m0, m1 = P[:, :-1, :-1].max(2), P[:, :-1, :-1].max(1)
        i0, i1 = m0.indices, m1.indices
        mutual = torch.arange(m)[None] == i1.gather(1, i0)
        return P.exp(), torch.where(mutual, m0.values.exp(), s.new_tensor(0)), torch.where(mutual, i0, i0.new_tensor(-1))


# Name, what builds it, what it is called with, and in which half precision people run it, too.
MODELS = [
    ("gin_readout", "GinReadout()", ["torch.randn(8192, 32)", "torch.randint(0, 8192, (2, 40000))", "torch.arange(8192) // 32"]),
    ("gatv2", "Gatv2Net()", ["torch.randn(10000, 128)", "torch.randint(0, 10000, (2, 120000))"]),
    ("graphsage_mean", "GraphsageMean()", ["torch.randn(20000, 100)", "torch.randint(0, 20000, (300000,))", "torch.randint(0, 20000, (300000,))"]),
    ("egnn", "Egnn()", ["torch.randn(2000, 16)", "torch.randn(2000, 3)", "torch.randint(0, 2000, (40000,))", "torch.randint(0, 2000, (40000,))"]),
    ("schnet", "Schnet()",
        ["torch.randint(1, 20, (1280,))", "torch.randn(1280, 3) * 3", "torch.randint(0, 1280, (25600,))",
         "torch.randint(0, 1280, (25600,))", "torch.arange(1280) // 20"]),
    ("pointnet2", "Pointnet2()", ["torch.rand(8, 1024, 3)"]),
    ("alphafold_evoformer", "AlphafoldEvoformer()",
        ["torch.randn(1, 64, 64, 256)", "torch.randn(1, 64, 64, 128)", "(torch.rand(1, 64, 64) > .2).float()"]),
    ("fourier_neural_operator", "FourierNeuralOperator()", ["torch.randn(8, 64, 64, 1)"]),
    ("fno_2d_modes", "Fno2dModes()", ["torch.randn(8, 64, 64, 1)"]),
    ("neural_ode_rk4", "NeuralOdeRk4()", ["torch.randn(1024, 64)"]),
    ("pinn_grad", "PinnGrad()", ["torch.rand(4096, 1)", "torch.rand(4096, 1)"]),
    ("sinkhorn_ot", "SinkhornOt()", ["torch.randn(4, 256, 128)", "torch.randn(4, 192, 128)"]),
]
