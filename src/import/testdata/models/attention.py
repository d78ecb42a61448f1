"""In the manner of papers and their repositories: transformers: odd attention, caches, mixtures of experts, what replaces attention."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class AlibiDecoderFp16(nn.Module):
    def __init__(self, d=768, h=12, layers=4):
        super().__init__()
        self.h = h
        self.ln = nn.ModuleList(nn.LayerNorm(d) for _ in range(2 * layers)).half()
        self.qkv = nn.ModuleList(nn.Linear(d, 3 * d) for _ in range(layers)).half()
        self.o = nn.ModuleList(nn.Linear(d, d) for _ in range(layers)).half()
        self.mlp = nn.ModuleList(nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)) for _ in range(layers)).half()

    def forward(self, x):
        b, n, d = x.shape
        slopes = torch.tensor([2 ** (-8 * (i + 1) / self.h) for i in range(self.h)], device=x.device)
        i = torch.arange(n, device=x.device)
        bias = slopes.view(-1, 1, 1) * (i.view(1, 1, -1) - (n - 1))
        mask = torch.triu(torch.full((n, n), float("-inf"), device=x.device), 1)
        bias = (bias + mask).to(x.dtype)
        for k in range(len(self.qkv)):
            q, kk, v = self.qkv[k](self.ln[2 * k](x)).chunk(3, -1)
            q, kk, v = (t.view(b, n, self.h, -1).transpose(1, 2) for t in (q, kk, v))
            s = (q @ kk.transpose(-1, -2)) / math.sqrt(q.shape[-1]) + bias
            a = s.float().softmax(-1).to(x.dtype) @ v
            x = x + self.o[k](a.transpose(1, 2).reshape(b, n, d))
            x = x + self.mlp[k](self.ln[2 * k + 1](x))
        return x


class GqaSdpaFp16(nn.Module):
    """Grouped queries with sdpa(enable_gqa), rotary by cached cos/sin, softcap, sliding mask, QK norm, in fp16."""
    def __init__(self, d=1024, h=16, kv=4, n=512, window=128):
        super().__init__()
        self.h, self.kv, self.hd, self.window = h, kv, d // h, window
        self.q, self.o = nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False)
        self.k, self.v = nn.Linear(d, kv * self.hd, bias=False), nn.Linear(d, kv * self.hd, bias=False)
        self.qn, self.kn = nn.RMSNorm(self.hd), nn.RMSNorm(self.hd)
        inv = 1.0 / (10000 ** (torch.arange(0, self.hd, 2).float() / self.hd))
        f = torch.outer(torch.arange(n).float(), inv)
        self.register_buffer("cos", torch.cat([f, f], -1).cos())
        self.register_buffer("sin", torch.cat([f, f], -1).sin())
        self.half()

    def rope(self, x):
        x1, x2 = x[..., : self.hd // 2], x[..., self.hd // 2:]
        return x * self.cos[: x.shape[2]] + torch.cat((-x2, x1), -1) * self.sin[: x.shape[2]]

    def forward(self, x):
        b, n, d = x.shape
        q = self.rope(self.qn(self.q(x).view(b, n, self.h, -1)).transpose(1, 2))
        k = self.rope(self.kn(self.k(x).view(b, n, self.kv, -1)).transpose(1, 2))
        v = self.v(x).view(b, n, self.kv, -1).transpose(1, 2)
        i = torch.arange(n)
        m = (i[:, None] >= i) & (i[:, None] - i < self.window)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=m, enable_gqa=True)
        kk, vv = k.repeat_interleave(self.h // self.kv, 1), v.repeat_interleave(self.h // self.kv, 1)
        s = 30.0 * torch.tanh((q @ kk.transpose(2, 3)) * self.hd ** -.5 / 30.0)
        s = s.masked_fill(~m, torch.finfo(s.dtype).min)
        z = F.softmax(s, dim=-1, dtype=torch.float32).to(q.dtype) @ vv
        return self.o((y + z).transpose(1, 2).reshape(b, n, d))


class SlidingWindowBf16(nn.Module):
    def __init__(self, d=1024, h=16, kv=4, w=128):
        super().__init__()
        self.h, self.kv, self.w, self.k = h, kv, w, d // h
        self.q, self.kk, self.v, self.o = (nn.Linear(d, o, bias=False) for o in (d, kv * self.k, kv * self.k, d))
        self.n = nn.RMSNorm(d)
        self.to(torch.bfloat16)

    def forward(self, x, cos, sin):
        b, n, d = x.shape
        y = self.n(x)
        q = self.q(y).view(b, n, self.h, self.k).transpose(1, 2)
        k = self.kk(y).view(b, n, self.kv, self.k).transpose(1, 2)
        v = self.v(y).view(b, n, self.kv, self.k).transpose(1, 2)
        def rot(t):
            a, c = t[..., : self.k // 2], t[..., self.k // 2:]
            return t * cos + torch.cat((-c, a), -1) * sin
        q, k = rot(q), rot(k)
        k, v = k.repeat_interleave(self.h // self.kv, 1), v.repeat_interleave(self.h // self.kv, 1)
        i = torch.arange(n, device=x.device)
        keep = (i[None] <= i[:, None]) & (i[None] > i[:, None] - self.w)
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        return x + self.o(a.transpose(1, 2).reshape(b, n, d))


class LongformerChunksBf16(nn.Module):
    def __init__(self, d=768, h=12, w=64):
        super().__init__()
        self.h, self.w = h, w
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.to(torch.bfloat16)

    def forward(self, x):
        b, n, d = x.shape
        w, c = self.w, d // self.h
        q, k, v = (f(x).view(b, n, self.h, c).transpose(1, 2) for f in (self.q, self.k, self.v))
        k, v = (F.pad(t, (0, 0, w, w)).unfold(2, 3 * w, w).transpose(-1, -2) for t in (k, v))
        q = q.view(b, self.h, n // w, w, c) * c ** -0.5
        s = torch.einsum("bhgqc,bhgkc->bhgqk", q, k)
        i, j = torch.arange(w, device=x.device), torch.arange(3 * w, device=x.device)
        band = (j[None] >= i[:, None]) & (j[None] <= i[:, None] + 2 * w)
        g = torch.arange(n // w, device=x.device)
        inside = ((g[:, None] - 1) * w + j[None] >= 0) & ((g[:, None] - 1) * w + j[None] < n)
        s = s.masked_fill(~(band[None] & inside[:, None]), -1e4)
        a = torch.einsum("bhgqk,bhgkc->bhgqc", s.softmax(-1), v).reshape(b, self.h, n, c)
        return self.o(a.transpose(1, 2).reshape(b, n, d))


class TreeAttentionFp16(nn.Module):
    def __init__(self, d=1024, h=16):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.o = (nn.Linear(d, d, bias=False) for _ in range(4))
        self.half()

    def forward(self, x, kc, vc, parent):
        b, n, d = x.shape
        q, k, v = (f(x).view(b, n, self.h, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        anc = torch.eye(n, device=x.device, dtype=torch.bool)
        node = torch.arange(n, device=x.device)
        for _ in range(5):
            node = parent[node]
            anc = anc | F.one_hot(node, n).bool()
        mask = torch.cat([torch.ones(n, kc.shape[2], device=x.device, dtype=torch.bool), anc], 1)
        k, v = torch.cat([kc, k], 2), torch.cat([vc, v], 2)
        s = (q @ k.transpose(-1, -2)) * (d // self.h) ** -0.5
        s = s.masked_fill(~mask, torch.finfo(s.dtype).min)
        return self.o((s.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d))


class KvCacheStatic(nn.Module):
    def __init__(self, d=1024, h=16, n=1024, b=4):
        super().__init__()
        self.h, self.k = h, d // h
        self.qkv, self.o = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.f1, self.f2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x, pos, kc, vc):
        b, n, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, n, 3, self.h, self.k).permute(2, 0, 3, 1, 4)
        kc = kc.index_copy(2, pos, k)
        vc = vc.index_copy(2, pos, v)
        mask = torch.arange(kc.shape[2], device=x.device)[None] <= pos[:, None]
        a = F.scaled_dot_product_attention(q, kc, vc, attn_mask=mask)
        x = x + self.o(a.transpose(1, 2).reshape(b, n, d))
        x = x + self.f2(F.gelu(self.f1(self.n2(x)), approximate="tanh"))
        return x, kc, vc


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(dim)), eps

    def forward(self, x):
        dtype = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * x.to(dtype)


def precompute_freqs_cis(dim, seqlen, base=10000.0):
    freqs = 1.0 / (base ** (torch.arange(0, dim, 2, dtype=torch.float32) / dim))
    return torch.polar(torch.ones(seqlen, dim // 2), torch.outer(torch.arange(seqlen).float(), freqs))


def apply_rotary_emb(x, freqs_cis):
    dtype = x.dtype
    x = torch.view_as_complex(x.float().view(*x.shape[:-1], -1, 2))
    freqs_cis = freqs_cis.view(1, x.size(1), 1, x.size(-1))
    return torch.view_as_real(x * freqs_cis).flatten(3).to(dtype)


class MlaDeepseek(nn.Module):
    def __init__(self, dim=1024, heads=16, q_rank=384, kv_rank=256, nope=64, rope=32, v=64, seq=256):
        super().__init__()
        self.h, self.nope, self.rope, self.v, self.kv_rank = heads, nope, rope, v, kv_rank
        self.wq_a, self.q_norm = nn.Linear(dim, q_rank, bias=False), RMSNorm(q_rank)
        self.wq_b = nn.Linear(q_rank, heads * (nope + rope), bias=False)
        self.wkv_a, self.kv_norm = nn.Linear(dim, kv_rank + rope, bias=False), RMSNorm(kv_rank)
        self.wkv_b = nn.Linear(kv_rank, heads * (nope + v), bias=False)
        self.wo = nn.Linear(heads * v, dim, bias=False)
        self.softmax_scale = (nope + rope) ** -0.5
        self.register_buffer("kv_cache", torch.zeros(2, 256, kv_rank), persistent=False)
        self.register_buffer("pe_cache", torch.zeros(2, 256, rope), persistent=False)
        self.register_buffer("freqs_cis", precompute_freqs_cis(rope, 256), persistent=False)

    def forward(self, x, start_pos: int = 0):
        bsz, seqlen, _ = x.size()
        end_pos = start_pos + seqlen
        freqs = self.freqs_cis[start_pos:end_pos]
        q = self.wq_b(self.q_norm(self.wq_a(x))).view(bsz, seqlen, self.h, -1)
        q_nope, q_pe = torch.split(q, [self.nope, self.rope], dim=-1)
        q_pe = apply_rotary_emb(q_pe, freqs)
        kv = self.wkv_a(x)
        kv, k_pe = torch.split(kv, [self.kv_rank, self.rope], dim=-1)
        k_pe = apply_rotary_emb(k_pe.unsqueeze(2), freqs)
        wkv_b = self.wkv_b.weight.view(self.h, -1, self.kv_rank)
        q_nope = torch.einsum("bshd,hdc->bshc", q_nope, wkv_b[:, :self.nope])
        self.kv_cache[:bsz, start_pos:end_pos] = self.kv_norm(kv)
        self.pe_cache[:bsz, start_pos:end_pos] = k_pe.squeeze(2)
        scores = (torch.einsum("bshc,btc->bsht", q_nope, self.kv_cache[:bsz, :end_pos]) +
                  torch.einsum("bshr,btr->bsht", q_pe, self.pe_cache[:bsz, :end_pos])) * self.softmax_scale
        if seqlen > 1:
            mask = torch.full((seqlen, seqlen), float("-inf"), device=x.device).triu_(1)
            scores += mask.unsqueeze(1)
        scores = scores.softmax(dim=-1, dtype=torch.float32).type_as(x)
        x = torch.einsum("bsht,btc->bshc", scores, self.kv_cache[:bsz, :end_pos])
        x = torch.einsum("bshc,hdc->bshd", x, wkv_b[:, -self.v:])
        return self.wo(x.flatten(2))


class T5Relative(nn.Module):
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


class Cross(nn.Module):
    def __init__(self, d, kd, h=8):
        super().__init__()
        self.nq, self.nk = nn.LayerNorm(d), nn.LayerNorm(kd)
        self.h = h
        self.q, self.kv, self.o = nn.Linear(d, d, bias=False), nn.Linear(kd, 2 * d, bias=False), nn.Linear(d, d)
        self.ff = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x, ctx):
        q, ctx = self.q(self.nq(x)), self.nk(ctx)
        k, v = self.kv(ctx).chunk(2, -1)
        b, n, d = q.shape
        q, k, v = (t.view(b, -1, self.h, d // self.h).transpose(1, 2) for t in (q, k, v))
        sim = torch.einsum("bhid,bhjd->bhij", q, k) * (d // self.h) ** -0.5
        out = torch.einsum("bhij,bhjd->bhid", sim.softmax(-1), v).transpose(1, 2).reshape(b, n, d)
        x = x + self.o(out)
        return x + self.ff(x)


class Perceiver(nn.Module):
    def __init__(self, d=512, latents=256, depth=6):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(latents, d) * 0.02)
        self.cross = Cross(d, 3 + 2 * (2 * 32 + 1), 1)
        self.layers = nn.ModuleList(Cross(d, d) for _ in range(depth))
        self.head = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 1000))

    def forward(self, img):
        b, h, w, c = img.shape
        ys, xs = torch.linspace(-1, 1, h, device=img.device), torch.linspace(-1, 1, w, device=img.device)
        pos = torch.stack(torch.meshgrid(ys, xs, indexing="ij"), -1).unsqueeze(-1)
        scales = torch.linspace(1.0, 112.0, 32, device=img.device)
        f = pos * scales * math.pi
        enc = torch.cat([f.sin(), f.cos(), pos], -1).flatten(2)
        data = torch.cat([img, enc.unsqueeze(0).expand(b, -1, -1, -1)], -1).flatten(1, 2)
        x = self.latents.unsqueeze(0).expand(b, -1, -1)
        x = self.cross(x, data)
        for layer in self.layers:
            x = layer(x, x)
        return self.head(x.mean(1))


class LinearAttentionPerformer(nn.Module):
    def __init__(self, d=512, h=8, m=128, layers=2):
        super().__init__()
        self.h, self.k = h, d // h
        self.qkv = nn.ModuleList(nn.Linear(d, 3 * d) for _ in range(layers))
        self.o = nn.ModuleList(nn.Linear(d, d) for _ in range(layers))
        self.n = nn.ModuleList(nn.LayerNorm(d) for _ in range(layers))
        self.register_buffer("proj", torch.randn(m, self.k))

    def phi(self, x, query):
        x = x * self.k ** -0.25
        u = torch.einsum("bhnd,md->bhnm", x, self.proj)
        s = x.square().sum(-1, keepdim=True) / 2
        mx = u.amax(-1, keepdim=True) if query else u.amax((-1, -2), keepdim=True)
        return self.proj.shape[0] ** -0.5 * (torch.exp(u - s - mx) + 1e-4)

    def forward(self, x):
        b, n, d = x.shape
        for qkv, o, norm in zip(self.qkv, self.o, self.n):
            q, k, v = (t.view(b, n, self.h, self.k).transpose(1, 2) for t in qkv(norm(x)).chunk(3, -1))
            q, k = self.phi(q, True), self.phi(k, False)
            kv = torch.einsum("bhnm,bhnd->bhmd", k, v)
            den = 1 / torch.einsum("bhnm,bhm->bhn", q, k.sum(-2))
            y = torch.einsum("bhmd,bhnm,bhn->bhnd", kv, q, den)
            x = x + o(y.transpose(1, 2).reshape(b, n, d))
        return x


class MoeTop2(nn.Module):
    def __init__(self, d=512, e=8, ff=1024):
        super().__init__()
        self.gate = nn.Linear(d, e, bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(d, ff), nn.GELU(), nn.Linear(ff, d)) for _ in range(e))
        self.norm = nn.LayerNorm(d)

    def forward(self, x):
        h = self.norm(x)
        w, i = torch.topk(self.gate(h).softmax(-1), 2, -1)
        w = w / w.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for k, expert in enumerate(self.experts):
            weight = (w * (i == k)).sum(-1, keepdim=True)
            out = out + weight * expert(h)
        return x + out


class MoeCapacityCumsum(nn.Module):
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


class LoRA(nn.Module):
    def __init__(self, i, o, r=16, alpha=32):
        super().__init__()
        self.base = nn.Linear(i, o, bias=False)
        self.A, self.B = nn.Linear(i, r, bias=False), nn.Linear(r, o, bias=False)
        self.scale, self.drop = alpha / r, nn.Dropout(0.05)

    def forward(self, x):
        return self.base(x) + self.B(self.A(self.drop(x))) * self.scale


class Layer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.o = LoRA(d, d), nn.Linear(d, d, bias=False), LoRA(d, d), nn.Linear(d, d, bias=False)
        self.g, self.u, self.d = nn.Linear(d, 4 * d, bias=False), nn.Linear(d, 4 * d, bias=False), LoRA(4 * d, d)
        self.n1, self.n2 = nn.RMSNorm(d), nn.RMSNorm(d)

    def forward(self, x):
        b, n, d = x.shape
        h = self.n1(x)
        q, k, v = (f(h).view(b, n, self.h, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, n, d))
        h = self.n2(x)
        return x + self.d(F.silu(self.g(h)) * self.u(h))


class LoraBf16(nn.Module):
    def __init__(self, d=1024, layers=4):
        super().__init__()
        self.layers = nn.ModuleList(Layer(d, 16) for _ in range(layers)).to(torch.bfloat16)

    def forward(self, x):
        for l in self.layers:
            x = l(x)
        return x


class FNet(nn.Module):
    def __init__(self, d=256, layers=6, vocab=20000):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.n1, self.n2 = (nn.ModuleList(nn.LayerNorm(d) for _ in range(layers)) for _ in range(2))
        self.f = nn.ModuleList(nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)) for _ in range(layers))

    def forward(self, x):
        x = self.emb(x)
        for n1, n2, f in zip(self.n1, self.n2, self.f):
            x = n1(x + torch.fft.fft2(x).real)
            x = n2(x + f(x))
        return x


class GmlpTiny(nn.Module):
    def __init__(self, n=128, d=256, ff=1024, layers=6, vocab=20000):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.n1 = nn.ModuleList(nn.LayerNorm(d) for _ in range(layers))
        self.p1 = nn.ModuleList(nn.Linear(d, ff) for _ in range(layers))
        self.ns = nn.ModuleList(nn.LayerNorm(ff // 2) for _ in range(layers))
        self.sp = nn.ModuleList(nn.Conv1d(n, n, 1) for _ in range(layers))
        self.p2 = nn.ModuleList(nn.Linear(ff // 2, d) for _ in range(layers))

    def forward(self, x):
        x = self.emb(x)
        for n1, p1, ns, sp, p2 in zip(self.n1, self.p1, self.ns, self.sp, self.p2):
            u, v = F.gelu(p1(n1(x))).chunk(2, -1)
            x = x + p2(u * sp(ns(v)))
        return x


# Name, what builds it, what it is called with, and in which half precision people run it, too.
MODELS = [
    ("alibi_decoder_fp16", "AlibiDecoderFp16()", ["torch.randn(2, 512, 768, dtype=torch.float16)"]),
    ("gqa_sdpa_fp16", "GqaSdpaFp16()", ["torch.randn(4, 512, 1024).half()"]),
    ("sliding_window_bf16", "SlidingWindowBf16()",
        ["torch.randn(2, 1024, 1024, dtype=torch.bfloat16)", "torch.randn(1024, 64, dtype=torch.bfloat16)",
         "torch.randn(1024, 64, dtype=torch.bfloat16)"]),
    ("longformer_chunks_bf16", "LongformerChunksBf16()", ["torch.randn(2, 1024, 768, dtype=torch.bfloat16)"]),
    ("tree_attention_fp16", "TreeAttentionFp16()",
        ["torch.randn(1, 64, 1024, dtype=torch.float16)", "torch.randn(1, 16, 2048, 64, dtype=torch.float16)",
         "torch.randn(1, 16, 2048, 64, dtype=torch.float16)", "(torch.arange(64) - 1).clamp(min=0) // 2"]),
    ("kv_cache_static", "KvCacheStatic()",
        ["torch.randn(4, 1, 1024)", "torch.tensor([511])", "torch.randn(4, 16, 1024, 64)", "torch.randn(4, 16, 1024, 64)"]),
    ("mla_deepseek", "MlaDeepseek()", ["torch.randn(2, 256, 1024)"]),
    ("t5_relative", "T5Relative()", ["torch.randn(4, 256, 512)", "(torch.rand(4, 256) > 0.1).long()"]),
    ("perceiver", "Perceiver()", ["torch.randn(4, 96, 96, 3)"]),
    ("linear_attention_performer", "LinearAttentionPerformer()", ["torch.randn(2, 1024, 512)"]),
    ("moe_top2", "MoeTop2()", ["torch.randn(4, 256, 512)"]),
    ("moe_capacity_cumsum", "MoeCapacityCumsum()", ["torch.randn(4, 128, 512)"]),
    ("lora_bf16", "LoraBf16()", ["torch.randn(2, 512, 1024, dtype=torch.bfloat16)"]),
    ("fnet", "FNet()", ["torch.randint(0, 20000, (8, 256))"]),
    ("gmlp_tiny", "GmlpTiny()", ["torch.randint(0, 20000, (16, 128))"]),
]
