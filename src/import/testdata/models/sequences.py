"""In the manner of papers and their repositories: recurrences, state spaces, speech, time series."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class MambaBlock(nn.Module):
    def __init__(self, d=256, n=16, expand=2, k=4):
        super().__init__()
        self.di, self.n, self.r = d * expand, n, d // 16
        self.in_proj = nn.Linear(d, 2 * self.di, bias=False)
        self.conv = nn.Conv1d(self.di, self.di, k, groups=self.di, padding=k - 1)
        self.x_proj = nn.Linear(self.di, self.r + 2 * n, bias=False)
        self.dt = nn.Linear(self.r, self.di)
        self.A_log = nn.Parameter(torch.log(torch.arange(1, n + 1).float()).repeat(self.di, 1))
        self.D = nn.Parameter(torch.ones(self.di))
        self.out = nn.Linear(self.di, d, bias=False)

    def forward(self, x):
        b, l, _ = x.shape
        xz, z = self.in_proj(x).chunk(2, -1)
        u = F.silu(self.conv(xz.transpose(1, 2))[..., :l].transpose(1, 2))
        dt, B, C = self.x_proj(u).split([self.r, self.n, self.n], -1)
        dt = F.softplus(self.dt(dt))
        A = -torch.exp(self.A_log)
        dA = torch.exp(dt.unsqueeze(-1) * A)
        dBu = dt.unsqueeze(-1) * B.unsqueeze(2) * u.unsqueeze(-1)
        h = torch.zeros(b, self.di, self.n, device=x.device, dtype=x.dtype)
        ys = []
        for t in range(l):
            h = dA[:, t] * h + dBu[:, t]
            ys.append((h * C[:, t].unsqueeze(1)).sum(-1))
        y = torch.stack(ys, 1) + u * self.D
        return self.out(y * F.silu(z))


class RwkvBlock(nn.Module):
    def __init__(self, d=512):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.decay, self.first = nn.Parameter(torch.randn(d) * 0.1 - 1), nn.Parameter(torch.randn(d) * 0.1)
        self.mk, self.mv, self.mr = (nn.Parameter(torch.rand(1, 1, d)) for _ in range(3))
        self.ck, self.cr = (nn.Parameter(torch.rand(1, 1, d)) for _ in range(2))
        self.k, self.v, self.r, self.o = (nn.Linear(d, d, bias=False) for _ in range(4))
        self.fk, self.fv, self.fr = nn.Linear(d, 4 * d, bias=False), nn.Linear(4 * d, d, bias=False), nn.Linear(d, d, bias=False)
        self.shift = nn.ZeroPad2d((0, 0, 1, -1))

    def forward(self, x):
        h = self.ln1(x)
        s = self.shift(h)
        k = self.k(h * self.mk + s * (1 - self.mk))
        v = self.v(h * self.mv + s * (1 - self.mv))
        r = torch.sigmoid(self.r(h * self.mr + s * (1 - self.mr)))
        w = -torch.exp(self.decay)
        a = torch.zeros_like(k[:, 0]); b = torch.zeros_like(a); p = torch.full_like(a, -1e30)
        outs = []
        for t in range(x.shape[1]):
            kt, vt = k[:, t], v[:, t]
            ww = self.first + kt
            q = torch.maximum(p, ww)
            e1, e2 = torch.exp(p - q), torch.exp(ww - q)
            outs.append((e1 * a + e2 * vt) / (e1 * b + e2))
            ww = p + w
            q = torch.maximum(ww, kt)
            e1, e2 = torch.exp(ww - q), torch.exp(kt - q)
            a, b, p = e1 * a + e2 * vt, e1 * b + e2, q
        x = x + self.o(r * torch.stack(outs, 1))
        h = self.ln2(x)
        s = self.shift(h)
        k = torch.square(torch.relu(self.fk(h * self.ck + s * (1 - self.ck))))
        return x + torch.sigmoid(self.fr(h * self.cr + s * (1 - self.cr))) * self.fv(k)


class Rwkv7(nn.Module):
    """RWKV-7 goose time mixing: state is transitioned by diag(w) - kk^T (a*kk)."""
    def __init__(self, d=512, n=64, rank=32):
        super().__init__()
        self.h, self.n = d // n, n
        self.x_r, self.x_w, self.x_k, self.x_v, self.x_a, self.x_g = [nn.Parameter(torch.rand(1, 1, d)) for _ in range(6)]
        self.w0, self.w1, self.w2 = nn.Parameter(torch.randn(d)), nn.Parameter(torch.randn(d, rank) * .1), nn.Parameter(torch.randn(rank, d) * .1)
        self.a0, self.a1, self.a2 = nn.Parameter(torch.randn(d)), nn.Parameter(torch.randn(d, rank) * .1), nn.Parameter(torch.randn(rank, d) * .1)
        self.g1, self.g2 = nn.Parameter(torch.randn(d, rank) * .1), nn.Parameter(torch.randn(rank, d) * .1)
        self.k_k, self.k_a, self.r_k = nn.Parameter(torch.ones(d)), nn.Parameter(torch.ones(d)), nn.Parameter(torch.randn(d // n, n) * .1)
        self.receptance, self.key, self.value, self.output = [nn.Linear(d, d, bias=False) for _ in range(4)]
        self.ln_x = nn.GroupNorm(d // n, d, eps=64e-5)

    def forward(self, x):
        B, T, C = x.shape
        H, N = self.h, self.n
        xx = F.pad(x, (0, 0, 1, -1)) - x
        xr, xw, xk, xv, xa, xg = (x + xx * m for m in (self.x_r, self.x_w, self.x_k, self.x_v, self.x_a, self.x_g))
        r = self.receptance(xr)
        w = -F.softplus(-(self.w0 + torch.tanh(xw @ self.w1) @ self.w2)) - 0.5
        k, v = self.key(xk), self.value(xv)
        a = torch.sigmoid(self.a0 + (xa @ self.a1) @ self.a2)
        g = torch.sigmoid(xg @ self.g1) @ self.g2
        kk = F.normalize((k * self.k_k).view(B, T, H, -1), dim=-1, p=2.0).view(B, T, C)
        k = k * (1 + (a - 1) * self.k_a)
        r_, w_, k_, v_, a_, b_ = [t.view(B, T, H, N) for t in (r, torch.exp(-torch.exp(w)), k, v, -kk, kk * a)]
        S = torch.zeros(B, H, N, N, device=x.device)
        ys = []
        for t in range(T):
            vk = v_[:, t].unsqueeze(-1) @ k_[:, t].unsqueeze(-2)
            ab = a_[:, t].unsqueeze(-1) @ b_[:, t].unsqueeze(-2)
            S = S * w_[:, t, :, None, :] + S @ ab + vk
            ys.append((S @ r_[:, t].unsqueeze(-1)).view(B, H * N))
        y = self.ln_x(torch.stack(ys, 1).view(B * T, C)).view(B, T, C)
        y = y + ((r.view(B, T, H, -1) * k.view(B, T, H, -1) * self.r_k).sum(dim=-1, keepdim=True) * v.view(B, T, H, -1)).view(B, T, C)
        return self.output(y * g)


class Retention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.k = h, d // h
        self.q, self.kk, self.v, self.g, self.o = (nn.Linear(d, d, bias=False) for _ in range(5))
        self.gn = nn.GroupNorm(h, d)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (f(x).view(b, n, self.h, self.k).transpose(1, 2) for f in (self.q, self.kk, self.v))
        gamma = 1 - torch.exp(torch.linspace(math.log(1 / 32), math.log(1 / 512), self.h, device=x.device))
        i = torch.arange(n, device=x.device)
        diff = (i.unsqueeze(1) - i.unsqueeze(0)).float()
        D = torch.where(diff >= 0, gamma.view(-1, 1, 1) ** diff.clamp(min=0), torch.zeros_like(diff))
        s = (q @ k.transpose(-1, -2)) * self.k ** -0.5 * D.unsqueeze(0).to(x.dtype)
        y = (s @ v).transpose(1, 2).reshape(b * n, d)
        y = self.gn(y).view(b, n, d)
        return self.o(F.silu(self.g(x)) * y)


class Retnet(nn.Module):
    def __init__(self, d=512, layers=4):
        super().__init__()
        self.n1 = nn.ModuleList(nn.LayerNorm(d) for _ in range(layers))
        self.n2 = nn.ModuleList(nn.LayerNorm(d) for _ in range(layers))
        self.r = nn.ModuleList(Retention(d, 8) for _ in range(layers))
        self.f = nn.ModuleList(nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d)) for _ in range(layers))

    def forward(self, x):
        for n1, r, n2, f in zip(self.n1, self.r, self.n2, self.f):
            x = x + r(n1(x))
            x = x + f(n2(x))
        return x


class GlaChunked(nn.Module):
    """Gated linear attention in chunks."""
    def __init__(self, d=512, heads=4, chunk=64):
        super().__init__()
        self.heads, self.chunk = heads, chunk
        self.q_proj, self.k_proj = nn.Linear(d, d // 2, bias=False), nn.Linear(d, d // 2, bias=False)
        self.v_proj, self.g_proj = nn.Linear(d, d, bias=False), nn.Linear(d, d)
        self.gk_proj = nn.Sequential(nn.Linear(d, 8, bias=False), nn.Linear(8, d // 2))
        self.norm = nn.RMSNorm(d // heads, eps=1e-5)
        self.o_proj = nn.Linear(d, d, bias=False)

    def forward(self, x):
        b, n, d = x.shape
        h, c = self.heads, self.chunk
        split = lambda t: t.view(b, n // c, c, h, -1).permute(0, 3, 1, 2, 4)
        q, k, v = split(self.q_proj(x)), split(self.k_proj(x)), split(self.v_proj(x))
        gk = split(F.logsigmoid(self.gk_proj(x)) / 16)
        g_cum = gk.cumsum(-2)
        q = q * (q.shape[-1] ** -0.5) * g_cum.exp()
        k_in = k * (-g_cum).exp()
        last = g_cum[..., -1:, :]
        k_out = k * (last - g_cum).exp()
        attn = (q @ k_in.transpose(-1, -2)).tril()
        o = attn @ v
        S = torch.zeros(b, h, q.shape[-1], v.shape[-1], dtype=x.dtype)
        inter = []
        for i in range(n // c):
            inter.append(q[:, :, i] @ S)
            S = S * last[:, :, i].squeeze(-2).exp().unsqueeze(-1) + k_out[:, :, i].transpose(-1, -2) @ v[:, :, i]
        o = o + torch.stack(inter, dim=2)
        o = o.permute(0, 2, 3, 1, 4).reshape(b, n, h, -1)
        return self.o_proj(self.norm(o).flatten(-2) * F.silu(self.g_proj(x))), S


class DeltanetChunk(nn.Module):
    """DeltaNet with the WY representation: forward substitution on slices of a triangular matrix."""
    def __init__(self, d=512, h=4, chunk=16):
        super().__init__()
        self.h, self.chunk = h, chunk
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.beta = nn.Linear(d, h)
        self.conv = nn.Conv1d(3 * d, 3 * d, 4, groups=3 * d, padding=3)
        self.o = nn.Linear(d, d, bias=False)

    def forward(self, x):
        b, n, d = x.shape
        c = self.chunk
        qkv = F.silu(self.conv(self.qkv(x).mT)[..., :n].mT)
        q, k, v = (t.view(b, n // c, c, self.h, -1).permute(0, 3, 1, 2, 4) for t in qkv.chunk(3, -1))
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        beta = self.beta(x).sigmoid().view(b, n // c, c, self.h).permute(0, 3, 1, 2).unsqueeze(-1)
        v_beta, k_beta = v * beta, k * beta
        mask = torch.triu(torch.ones(c, c, dtype=torch.bool, device=x.device), diagonal=0)
        T = -(k_beta @ k.transpose(-1, -2)).masked_fill(mask, 0)
        for i in range(1, c):
            T[..., i, :i] = T[..., i, :i] + (T[..., i, :, None].clone() * T[..., :, :i].clone()).sum(-2)
        T = T + torch.eye(c, dtype=x.dtype, device=x.device)
        u, w = T @ v_beta, T @ k_beta
        S = torch.zeros(b, self.h, k.shape[-1], v.shape[-1], dtype=x.dtype)
        o = torch.zeros_like(v)
        upper = torch.triu(torch.ones(c, c, dtype=torch.bool), diagonal=1)
        for i in range(n // c):
            q_i, k_i = q[:, :, i], k[:, :, i]
            attn = (q_i @ k_i.transpose(-1, -2)).masked_fill_(upper, 0)
            u_i = u[:, :, i] - w[:, :, i] @ S
            o[:, :, i] = q_i @ S + attn @ u_i
            S = S + k_i.transpose(-1, -2) @ u_i
        return self.o(o.permute(0, 2, 3, 1, 4).reshape(b, n, d))


class XlstmMlstm(nn.Module):
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


def fftconv(u, k, D):
    n = u.shape[-1]
    kf = torch.fft.rfft(k, n=2 * n) / (2 * n)
    uf = torch.fft.rfft(u, n=2 * n)
    y = torch.fft.irfft(uf * kf, n=2 * n, norm="forward")[..., :n]
    return y + u * D.unsqueeze(-1)


class Hyena(nn.Module):
    def __init__(self, d=128, order=2, length=512):
        super().__init__()
        self.inp, self.out = nn.Linear(d, (order + 1) * d), nn.Linear(d, d)
        self.short = nn.Conv1d((order + 1) * d, (order + 1) * d, 3, padding=2, groups=(order + 1) * d)
        self.filter = nn.Sequential(nn.Linear(5, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, d * (order - 1), bias=False))
        self.bias = nn.Parameter(torch.randn(d))
        self.d = d
        t = torch.linspace(0, 1, length)[:, None]
        w = 2 * math.pi * torch.linspace(0, length - 1, length)[:, None] / length
        f = torch.linspace(1e-4, 1, 2)[None]
        self.register_buffer("z", torch.cat([t, torch.cos(f * w), -torch.sin(f * w)], -1))
        self.register_buffer("decay", torch.exp(-t * torch.linspace(0.3, 1.5, d)[None].abs()))

    def forward(self, x):
        n = x.shape[1]
        u = self.short(self.inp(x).transpose(1, 2))[..., :n]
        x1, x2, v = u.split(self.d, 1)
        k = (self.filter(self.z) * self.decay).t()
        v = fftconv(v * x1, k, self.bias)
        return self.out((v * x2).transpose(1, 2))


class PackedLengthsLstm(nn.Module):
    """Sentence classifier on padded batches with lengths."""
    def __init__(self, v=10000, d=256, h=256):
        super().__init__()
        self.emb, self.lstm, self.fc = nn.Embedding(v, d, padding_idx=0), nn.LSTM(d, h, batch_first=True, bidirectional=True), nn.Linear(2 * h, 3)

    def forward(self, ids, lengths):
        packed = pack_padded_sequence(self.emb(ids), lengths, batch_first=True, enforce_sorted=False)
        out, (h, c) = self.lstm(packed)
        out, _ = pad_packed_sequence(out, batch_first=True, total_length=ids.shape[1])
        return self.fc(torch.cat([h[0], h[1]], -1)), out


class Seq2seqAttention(nn.Module):
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


class CrfViterbiLike(nn.Module):
    def __init__(self, tags=24, d=256, v=20000):
        super().__init__()
        self.e = nn.Embedding(v, d)
        self.c = nn.Conv1d(d, d, 3, padding=1)
        self.l = nn.Linear(d, tags)
        self.t = nn.Parameter(torch.randn(tags, tags))
        self.s, self.f = nn.Parameter(torch.randn(tags)), nn.Parameter(torch.randn(tags))

    def forward(self, x):
        h = torch.relu(self.c(self.e(x).transpose(1, 2))).transpose(1, 2)
        em = self.l(h)
        score = self.s + em[:, 0]
        for k in range(1, x.shape[1]):
            score = torch.logsumexp(score.unsqueeze(2) + self.t.unsqueeze(0) + em[:, k].unsqueeze(1), 1)
        return torch.logsumexp(score + self.f, 1)


class FeedForward(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.SiLU(), nn.Dropout(0.1), nn.Linear(4 * d, d), nn.Dropout(0.1))

    def forward(self, x):
        return self.net(x)


class ConvModule(nn.Module):
    def __init__(self, d, k=31):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.pw1 = nn.Conv1d(d, 2 * d, 1)
        self.dw = nn.Conv1d(d, d, k, padding=k // 2, groups=d)
        self.bn = nn.BatchNorm1d(d)
        self.pw2 = nn.Conv1d(d, d, 1)

    def forward(self, x):
        x = self.norm(x).transpose(1, 2)
        x = F.glu(self.pw1(x), dim=1)
        x = F.silu(self.bn(self.dw(x)))
        return self.pw2(x).transpose(1, 2)


class RelAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.k = h, d // h
        self.q, self.kk, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.pos = nn.Linear(d, d, bias=False)
        self.u, self.w = nn.Parameter(torch.randn(h, d // h) * 0.02), nn.Parameter(torch.randn(h, d // h) * 0.02)

    def shift(self, s):
        b, h, t, n = s.shape
        s = F.pad(s, (1, 0)).view(b, h, n + 1, t)
        return s[:, :, 1:].view(b, h, t, n)[:, :, :, : n // 2 + 1]

    def forward(self, x, pe):
        b, t, _ = x.shape
        q = self.q(x).view(b, t, self.h, self.k)
        k = self.kk(x).view(b, t, self.h, self.k).transpose(1, 2)
        v = self.v(x).view(b, t, self.h, self.k).transpose(1, 2)
        p = self.pos(pe).view(1, -1, self.h, self.k).transpose(1, 2)
        ac = (q + self.u).transpose(1, 2) @ k.transpose(-2, -1)
        bd = self.shift((q + self.w).transpose(1, 2) @ p.transpose(-2, -1))
        a = torch.softmax((ac + bd) / math.sqrt(self.k), -1)
        return self.o((a @ v).transpose(1, 2).reshape(b, t, -1))


class ConformerBlock(nn.Module):
    def __init__(self, d=256, h=4):
        super().__init__()
        self.ff1, self.ff2, self.conv = FeedForward(d), FeedForward(d), ConvModule(d)
        self.att, self.na, self.nf = RelAttention(d, h), nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x, pe):
        x = x + 0.5 * self.ff1(x)
        x = x + self.att(self.na(x), pe)
        x = x + self.conv(x)
        x = x + 0.5 * self.ff2(x)
        return self.nf(x)


class Conformer(nn.Module):
    def __init__(self, d=256, layers=4):
        super().__init__()
        self.sub = nn.Sequential(nn.Conv2d(1, d, 3, 2), nn.ReLU(), nn.Conv2d(d, d, 3, 2), nn.ReLU())
        self.lin = nn.Linear(d * 19, d)
        self.blocks = nn.ModuleList(ConformerBlock(d) for _ in range(layers))
        self.d = d

    def forward(self, x):
        x = self.sub(x.unsqueeze(1))
        b, c, t, f = x.shape
        x = self.lin(x.transpose(1, 2).reshape(b, t, c * f))
        pos = torch.arange(t - 1, -t, -1, device=x.device, dtype=x.dtype).unsqueeze(1)
        div = torch.exp(torch.arange(0, self.d, 2, device=x.device, dtype=x.dtype) * (-math.log(10000.0) / self.d))
        pe = torch.zeros(2 * t - 1, self.d, device=x.device, dtype=x.dtype)
        pe[:, 0::2] = torch.sin(pos * div)
        pe[:, 1::2] = torch.cos(pos * div)
        for block in self.blocks:
            x = block(x, pe.unsqueeze(0))
        return x


class Highway(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.h, self.t = nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        t = torch.sigmoid(self.t(x))
        return F.relu(self.h(x)) * t + x * (1 - t)


class TacotronEncoder(nn.Module):
    def __init__(self, d=128, k=16):
        super().__init__()
        self.emb = nn.Embedding(150, 256)
        self.prenet = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Dropout(0.5), nn.Linear(256, d), nn.ReLU(), nn.Dropout(0.5))
        self.bank = nn.ModuleList(nn.Sequential(nn.Conv1d(d, d, i, padding=i // 2, bias=False), nn.ReLU(), nn.BatchNorm1d(d)) for i in range(1, k + 1))
        self.pool = nn.MaxPool1d(2, 1, 1)
        self.p1 = nn.Sequential(nn.Conv1d(k * d, d, 3, padding=1, bias=False), nn.ReLU(), nn.BatchNorm1d(d))
        self.p2 = nn.Sequential(nn.Conv1d(d, d, 3, padding=1, bias=False), nn.BatchNorm1d(d))
        self.highways = nn.Sequential(*[Highway(d) for _ in range(4)])
        self.gru = nn.GRU(d, d, batch_first=True, bidirectional=True)

    def forward(self, x):
        x = self.prenet(self.emb(x))
        y = x.transpose(1, 2)
        n = y.shape[-1]
        y = torch.cat([conv(y)[:, :, :n] for conv in self.bank], 1)
        y = self.pool(y)[:, :, :n]
        y = self.p2(self.p1(y)).transpose(1, 2) + x
        return self.gru(self.highways(y))[0]


class DeeparGruStep(nn.Module):
    def __init__(self, d=64, layers=3):
        super().__init__()
        self.emb = nn.Embedding(370, 20)
        self.rnn = nn.LSTM(25, d, layers, dropout=0.1, batch_first=True)
        self.mu, self.sigma = nn.Linear(d * layers, 1), nn.Linear(d * layers, 1)

    def forward(self, x, idx):
        e = self.emb(idx).unsqueeze(1).expand(-1, x.shape[1], -1)
        out, (h, c) = self.rnn(torch.cat([x, e], -1))
        hp = h.permute(1, 0, 2).reshape(x.shape[0], -1)
        return self.mu(hp).squeeze(-1), F.softplus(self.sigma(hp)).squeeze(-1), out


class ProbAttention(nn.Module):
    def __init__(self, d, h, factor=5):
        super().__init__()
        self.h, self.factor = h, factor
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (f(x).view(b, n, self.h, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        u = min(self.factor * int(math.ceil(math.log(n))), n)
        s = torch.matmul(q, k.transpose(-2, -1))
        m = s.max(-1)[0] - s.sum(-1) / n
        top = m.topk(u, sorted=False)[1]
        idx = top.unsqueeze(-1)
        qr = q.gather(2, idx.expand(-1, -1, -1, q.shape[-1]))
        a = torch.softmax(qr @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), -1)
        ctx = v.mean(2, keepdim=True).expand(-1, -1, n, -1).clone()
        ctx = ctx.scatter(2, idx.expand(-1, -1, -1, v.shape[-1]), a @ v)
        return self.o(ctx.transpose(1, 2).reshape(b, n, d))


class InformerDistil(nn.Module):
    def __init__(self, d=512, h=8, c=7):
        super().__init__()
        self.token = nn.Conv1d(c, d, 3, padding=1, padding_mode="circular", bias=False)
        self.a1, self.a2 = ProbAttention(d, h), ProbAttention(d, h)
        self.f1, self.f2 = (nn.Sequential(nn.Conv1d(d, 2048, 1), nn.GELU(), nn.Conv1d(2048, d, 1)) for _ in range(2))
        self.n = nn.ModuleList(nn.LayerNorm(d) for _ in range(5))
        self.down, self.bn = nn.Conv1d(d, d, 3, padding=1, padding_mode="circular"), nn.BatchNorm1d(d)

    def forward(self, x):
        x = self.token(x.permute(0, 2, 1)).transpose(1, 2)
        x = self.n[0](x + self.a1(x))
        x = self.n[1](x + self.f1(x.transpose(-1, 1)).transpose(-1, 1))
        y = F.max_pool1d(F.elu(self.bn(self.down(x.permute(0, 2, 1)))), 3, 2, 1)
        x = y.transpose(1, 2)
        x = self.n[2](x + self.a2(x))
        x = self.n[3](x + self.f2(x.transpose(-1, 1)).transpose(-1, 1))
        return self.n[4](x)


class Patchtst(nn.Module):
    def __init__(self, n=512, patch=16, stride=8, d=128, h=16, layers=3, pred=96):
        super().__init__()
        self.patch, self.stride = patch, stride
        num = (n - patch) // stride + 2
        self.emb, self.pos = nn.Linear(patch, d), nn.Parameter(torch.randn(num, d) * 0.02)
        self.enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, h, 256, 0.2, "gelu", batch_first=True), layers)
        self.head = nn.Linear(num * d, pred)
        self.g, self.b = nn.Parameter(torch.ones(7)), nn.Parameter(torch.zeros(7))

    def forward(self, x):
        mean = x.mean(1, keepdim=True)
        std = torch.sqrt(torch.var(x, 1, keepdim=True, unbiased=False) + 1e-5)
        x = (x - mean) / std * self.g + self.b
        x = F.pad(x.permute(0, 2, 1), (0, self.stride), mode="replicate").unfold(-1, self.patch, self.stride)
        b, c, p, _ = x.shape
        z = (self.emb(x) + self.pos).reshape(b * c, p, -1)
        z = self.enc(z).reshape(b, c, -1)
        return ((self.head(z).permute(0, 2, 1) - self.b) / (self.g + 1e-10)) * std + mean


class NbeatsBlock(nn.Module):
    def __init__(self, back, fore, w=512, theta=8, kind="generic"):
        super().__init__()
        self.fc = nn.Sequential(*[m for k in range(4) for m in (nn.Linear(back if k == 0 else w, w), nn.ReLU())])
        self.tb, self.tf = nn.Linear(w, theta, bias=False), nn.Linear(w, theta, bias=False)
        self.kind = kind
        if kind == "trend":
            tb, tf = torch.arange(back) / back, torch.arange(fore) / fore
            self.register_buffer("B", torch.stack([tb ** i for i in range(theta)]))
            self.register_buffer("F", torch.stack([tf ** i for i in range(theta)]))
        else:
            self.bb, self.bf = nn.Linear(theta, back), nn.Linear(theta, fore)

    def forward(self, x):
        h = self.fc(x)
        if self.kind == "trend":
            return self.tb(h) @ self.B, self.tf(h) @ self.F
        return self.bb(F.relu(self.tb(h))), self.bf(F.relu(self.tf(h)))


class Nbeats(nn.Module):
    def __init__(self, back=96, fore=24):
        super().__init__()
        self.blocks = nn.ModuleList([NbeatsBlock(back, fore, kind="trend", theta=3) for _ in range(3)] + [NbeatsBlock(back, fore) for _ in range(6)])
        self.fore = fore

    def forward(self, x):
        out = torch.zeros(x.shape[0], self.fore, device=x.device)
        for b in self.blocks:
            back, fore = b(x)
            x = x - back
            out = out + fore
        return out


# Name, what builds it, what it is called with, and in which half precision people run it, too.
MODELS = [
    ("mamba_block", "MambaBlock()", ["torch.randn(4, 64, 256)"]),
    ("rwkv_block", "RwkvBlock()", ["torch.randn(4, 64, 512)"]),
    ("rwkv7", "Rwkv7()", ["torch.randn(4, 32, 512)"]),
    ("retnet", "Retnet()", ["torch.randn(4, 512, 512)"]),
    ("gla_chunked", "GlaChunked()", ["torch.randn(4, 512, 512)"]),
    ("deltanet_chunk", "DeltanetChunk()", ["torch.randn(4, 256, 512)"]),
    ("xlstm_mlstm", "XlstmMlstm()", ["torch.randn(4, 256, 512)"]),
    ("hyena", "Hyena()", ["torch.randn(4, 512, 128)"]),
    ("packed_lengths_lstm", "PackedLengthsLstm()", ["torch.randint(1, 10000, (32, 64))", "torch.randint(1, 65, (32,))"]),
    ("seq2seq_attention", "Seq2seqAttention()", ["torch.randint(0, 10000, (32, 40))", "torch.randint(0, 10000, (32, 20))"]),
    ("crf_viterbi_like", "CrfViterbiLike()", ["torch.randint(0, 20000, (64, 48))"]),
    ("conformer", "Conformer()", ["torch.randn(4, 800, 80)"]),
    ("tacotron_encoder", "TacotronEncoder()", ["torch.randint(0, 150, (16, 120))"]),
    ("deepar_gru_step", "DeeparGruStep()", ["torch.randn(256, 96, 5)", "torch.randint(0, 370, (256,))"]),
    ("informer_distil", "InformerDistil()", ["torch.randn(32, 96, 7)"]),
    ("patchtst", "Patchtst()", ["torch.randn(32, 512, 7)"]),
    ("nbeats", "Nbeats()", ["torch.randn(1024, 96)"]),
]
