"""Attention: PyTorch's fused operator with every mask, its modules, and the same by hand."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from stitchcuda_torch.cases.case import Case

attention = F.scaled_dot_product_attention


class CausalSelfAttention(nn.Module):
    """The GPT-2 way: one projection for q, k, v, a triangle of ones as a buffer."""

    def __init__(self, size, heads, length):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(size, 3 * size)
        self.out = nn.Linear(size, size)
        self.register_buffer("triangle", torch.tril(torch.ones(length, length)).view(1, 1, length, length))

    def forward(self, x):
        batch, length, size = x.size()
        q, k, v = self.qkv(x).split(size, dim=2)
        q, k, v = (t.view(batch, length, self.heads, size // self.heads).transpose(1, 2) for t in (q, k, v))
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.triangle[:, :, :length, :length] == 0, float("-inf"))
        y = F.softmax(scores, dim=-1) @ v
        return self.out(y.transpose(1, 2).contiguous().view(batch, length, size))


class SelfAttention(nn.Module):
    def __init__(self, need_weights, **options):
        super().__init__()
        self.need_weights = need_weights
        self.attention = nn.MultiheadAttention(8, 2, **options)

    def forward(self, x):
        y, weights = self.attention(x, x, x, need_weights=self.need_weights)
        return y if weights is None else (y, weights)


class CrossAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, kdim=6, vdim=5, batch_first=True)

    def forward(self, q, k, v, padding):
        return self.attention(q, k, v, key_padding_mask=padding, average_attn_weights=False)


class MaskedAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x, mask):
        return self.attention(x, x, x, attn_mask=mask, need_weights=False)[0]


class Decoder(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True, **options)

    def forward(self, target, memory):
        causal = nn.Transformer.generate_square_subsequent_mask(target.size(1)).to(target.dtype)
        return self.layer(target, memory, tgt_mask=causal)


def grouped_by_repeat(q, k, v):
    repeats = q.size(1) // k.size(1)
    return attention(q, k.repeat_interleave(repeats, dim=1), v.repeat_interleave(repeats, dim=1))


def grouped_by_expand(q, k, v):
    batch, groups, length, size = k.shape
    repeats = q.size(1) // groups
    k, v = (t[:, :, None].expand(batch, groups, repeats, length, size).reshape(batch, groups * repeats, length, size) for t in (k, v))
    return torch.softmax(q @ k.transpose(2, 3) / math.sqrt(size), dim=-1) @ v


def linear_attention(q, k, v):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    context = torch.einsum("bhnd,bhne->bhde", k, v)
    normaliser = torch.einsum("bhnd,bhd->bhn", q, k.sum(2))
    return torch.einsum("bhnd,bhde->bhne", q, context) / normaliser.unsqueeze(-1)


def relu_attention(q, k, v):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    mask = torch.tril(torch.ones(q.size(2), q.size(2))) == 0
    return F.relu(scores.masked_fill(mask, float("-inf"))) @ v


def cosine_attention(q, k, v, scale):
    scores = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
    return torch.softmax(scores * torch.clamp(scale, max=math.log(100.0)).exp(), dim=-1) @ v


def soft_capped_attention(q, k, v):
    scores = 5.0 * torch.tanh(q @ k.transpose(-2, -1) / 5.0)
    return torch.softmax(scores, dim=-1) @ v


def cases():
    generator = torch.Generator().manual_seed(111)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    torch.manual_seed(111)
    q, k, v = normal(2, 4, 5, 6), normal(2, 4, 5, 6), normal(2, 4, 5, 6)
    keys, values = normal(2, 4, 7, 6), normal(2, 4, 7, 3)
    few_k, few_v = normal(2, 2, 5, 6), normal(2, 2, 5, 6)
    allowed = torch.rand(5, 7, generator=generator) > 0.4
    allowed[:, 0] = True
    padding = torch.tensor([[False, False, False, True], [False, False, True, True]])
    tokens = normal(2, 5, 8)
    table = {
        "sdpa": (attention, q, k, v),
        "sdpa_causal": (lambda q, k, v: attention(q, k, v, is_causal=True), q, k, v),
        "sdpa_scale": (lambda q, k, v: attention(q, k, v, scale=0.3), q, k, v),
        "sdpa_lengths_differ": (attention, q, keys, values),
        "sdpa_causal_lengths_differ": (lambda q, k, v: attention(q, k, v, is_causal=True), q, keys, values),
        "sdpa_bool_mask": (lambda q, k, v, m: attention(q, k, v, attn_mask=m), q, keys, values, allowed),
        "sdpa_bool_mask_of_each_head": (lambda q, k, v, m: attention(q, k, v, attn_mask=m), q, keys, values, allowed.expand(2, 4, 5, 7)),
        "sdpa_float_mask": (lambda q, k, v, m: attention(q, k, v, attn_mask=m), q, keys, values, normal(2, 1, 5, 7)),
        "sdpa_float_mask_minus_infinity": (lambda q, k, v, m: attention(q, k, v, attn_mask=m), q, keys, values, torch.zeros(5, 7).masked_fill(~allowed, -math.inf)),
        "sdpa_three_dims": (lambda q, k, v: attention(q, k, v, is_causal=True), q[0], k[0], v[0]),
        "sdpa_two_dims": (attention, q[0, 0], k[0, 0], v[0, 0]),
        "sdpa_grouped": (lambda q, k, v: attention(q, k, v, enable_gqa=True), q, few_k, few_v),
        "sdpa_grouped_causal": (lambda q, k, v: attention(q, k, v, is_causal=True, enable_gqa=True), q, few_k, few_v),
        "sdpa_one_query": (attention, normal(2, 4, 1, 6), keys, values),
        "sdpa_of_transposed": (lambda q, k, v: attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2), q, k, v),
        "sdpa_large_scores": (lambda q, k, v: attention(30 * q, k, v), q, k, v),
        "grouped_by_repeat_interleave": (grouped_by_repeat, q, few_k, few_v),
        "grouped_by_expand": (grouped_by_expand, q, few_k, few_v),
        "linear": (linear_attention, q, k, v),
        "relu": (relu_attention, q, k, v),
        "cosine": (cosine_attention, q, k, v, normal(4, 1, 1)),
        "soft_capped": (soft_capped_attention, q, k, v),
        "causal_by_hand": (CausalSelfAttention(8, 2, 6), tokens),
        "causal_by_hand_shorter_than_triangle": (CausalSelfAttention(8, 2, 9), tokens),
        "multihead_with_weights": (SelfAttention(True), tokens),
        "multihead_without_weights": (SelfAttention(False), tokens),
        "multihead_batch_first": (SelfAttention(True, batch_first=True), tokens),
        "multihead_no_bias": (SelfAttention(False, bias=False, batch_first=True), tokens),
        "multihead_bias_kv_zero_attention": (SelfAttention(True, add_bias_kv=True, add_zero_attn=True), tokens),
        "multihead_without_batch": (SelfAttention(True), tokens[0]),
        "multihead_cross_with_padding": (CrossAttention(), normal(2, 3, 8), normal(2, 4, 6), normal(2, 4, 5), padding),
        "multihead_bool_mask": (MaskedAttention(), tokens, torch.ones(5, 5, dtype=torch.bool).triu(1)),
        "multihead_float_mask": (MaskedAttention(), tokens, normal(5, 5)),
        "encoder_layer": (nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), tokens),
        "encoder_layer_norm_first": (nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, norm_first=True), tokens),
        "encoder_layer_gelu": (nn.TransformerEncoderLayer(8, 4, 12, dropout=0.0, activation="gelu", batch_first=True), tokens),
        "encoder_two_layers": (nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), 2, norm=nn.LayerNorm(8)), tokens),
        "decoder_layer": (Decoder(), tokens, normal(2, 4, 8)),
        "decoder_layer_norm_first": (Decoder(norm_first=True), tokens, normal(2, 4, 8)),
        "transformer": (nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True), normal(2, 4, 8), tokens),
    }
    for name, (run, *inputs) in table.items():
        yield Case(f"attention_{name}", run, tuple(inputs))
    yield Case("attention_encoder_layer_eval", nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (tokens,), eval=True)
    yield Case("attention_multihead_eval", SelfAttention(True, dropout=0.3, batch_first=True), (tokens,), eval=True)
