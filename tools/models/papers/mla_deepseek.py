"""mla_deepseek: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

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


class Model(nn.Module):
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


def get_inputs():
    return [torch.randn(2, 256, 1024)]


def get_init_inputs():
    return []
