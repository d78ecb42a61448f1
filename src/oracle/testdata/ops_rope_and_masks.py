"""What language models compute around attention: rotary positions, masks, position biases, gated layers, experts."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from stitchcuda_torch.cases.case import Case


def rotary_angles(length, size, dtype, base=100.0):
    frequency = 1.0 / (base ** (torch.arange(0, size, 2, dtype=dtype) / size))
    return torch.outer(torch.arange(length, dtype=dtype), frequency)  # (length, size / 2)


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def rope_half(q, k):
    """Llama's layout: the two halves of a head are the two coordinates."""
    angles = rotary_angles(q.size(-2), q.size(-1), q.dtype)
    angles = torch.cat((angles, angles), dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


def rope_interleaved(x):
    """GPT-J's layout: neighbours are the two coordinates."""
    angles = rotary_angles(x.size(-2), x.size(-1), x.dtype)
    cos, sin = angles.cos(), angles.sin()
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)


def rope_partial(x, rotated):
    """GPT-NeoX's: only the first features turn."""
    turned, passed = x[..., :rotated], x[..., rotated:]
    angles = rotary_angles(x.size(-2), rotated, x.dtype).repeat(1, 2)
    return torch.cat((turned * angles.cos() + rotate_half(turned) * angles.sin(), passed), dim=-1)


def rope_at_positions(x, positions):
    """Positions come as an input and pick rows of a table."""
    angles = rotary_angles(16, x.size(-1), x.dtype).repeat(1, 2)[positions].unsqueeze(1)
    return x * angles.cos() + rotate_half(x) * angles.sin()


def rope_two_axes(x, height, width):
    """A vision model's: half the features by row, half by column."""
    rows = rotary_angles(height, x.size(-1) // 2, x.dtype)[:, None].expand(-1, width, -1)
    columns = rotary_angles(width, x.size(-1) // 2, x.dtype)[None].expand(height, -1, -1)
    angles = torch.cat((rows, columns), dim=-1).reshape(height * width, -1)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.cat((even * angles.cos() - odd * angles.sin(), even * angles.sin() + odd * angles.cos()), dim=-1)


def causal_by_comparison(scores):
    position = torch.arange(scores.size(-1))
    return torch.softmax(scores.masked_fill(position[None, :] > position[:, None], float("-inf")), dim=-1)


def causal_by_triu(scores):
    mask = torch.triu(torch.full(scores.shape[-2:], float("-inf"), dtype=scores.dtype), diagonal=1)
    return torch.softmax(scores + mask, dim=-1)


def sliding_window(scores, width):
    position = torch.arange(scores.size(-1))
    distance = position[:, None] - position[None, :]
    return torch.softmax(torch.where((distance >= 0) & (distance < width), scores, float("-inf")), dim=-1)


def causal_with_past(scores):
    """Fewer queries than keys: the queries are the last positions."""
    queries, keys = scores.shape[-2:]
    allowed = torch.ones(queries, keys, dtype=torch.bool).tril(diagonal=keys - queries)
    return torch.softmax(scores.masked_fill(~allowed, torch.finfo(torch.float32).min), dim=-1)


def prefix_mask(scores, prefix):
    position = torch.arange(scores.size(-1))
    allowed = (position[None, :] <= position[:, None]) | (position < prefix)
    return torch.softmax(scores.masked_fill(torch.logical_not(allowed), -1e30), dim=-1)


def padding_mask(scores, lengths):
    allowed = torch.arange(scores.size(-1))[None, :] < lengths[:, None]
    return torch.softmax(scores.masked_fill(~allowed[:, None, None, :], float("-inf")), dim=-1)


def document_mask(scores, document):
    same = document[:, None, :, None] == document[:, None, None, :]
    causal = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return torch.softmax(torch.where(same & causal, scores, float("-inf")), dim=-1)


def alibi(scores):
    heads, length = scores.size(1), scores.size(-1)
    slopes = 2.0 ** (-8.0 * torch.arange(1, heads + 1, dtype=scores.dtype) / heads)
    position = torch.arange(length)
    distance = (position[None, :] - position[:, None]).clamp(max=0)
    return torch.softmax(scores + slopes[:, None, None] * distance, dim=-1)


def t5_buckets(length, dtype, buckets=8, furthest=20):
    """Half the buckets for each sign; near distances exact, far ones logarithmic."""
    position = torch.arange(length)
    distance = position[None, :] - position[:, None]
    half, exact = buckets // 2, buckets // 4
    far = exact + (torch.log(distance.abs().clamp(min=1).to(dtype) / exact) / math.log(furthest / exact) * (half - exact)).to(torch.long)
    bucket = torch.where(distance.abs() < exact, distance.abs(), far.clamp(max=half - 1))
    return bucket + (distance > 0).to(torch.long) * half


def t5_bias(scores, table):
    buckets = t5_buckets(scores.size(-1), scores.dtype)
    return torch.softmax(scores + F.embedding(buckets, table).permute(2, 0, 1).unsqueeze(0), dim=-1)


def swin_relative_index(size):
    coordinates = torch.stack(torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")).flatten(1)
    relative = (coordinates[:, :, None] - coordinates[:, None, :]).permute(1, 2, 0).contiguous()
    relative[:, :, 0] += size - 1
    relative[:, :, 1] += size - 1
    relative[:, :, 0] *= 2 * size - 1
    return relative.sum(-1)


def swin_bias(scores, table, size):
    index = swin_relative_index(size)
    return scores + table[index.view(-1)].view(size**2, size**2, -1).permute(2, 0, 1)


def swin_shift_mask(scores, side, window, shift):
    """Windows that wrap around the border may not look across it."""
    regions = torch.zeros(1, side, side, 1, dtype=scores.dtype)
    count = 0
    for rows in (slice(0, -window), slice(-window, -shift), slice(-shift, None)):
        for columns in (slice(0, -window), slice(-window, -shift), slice(-shift, None)):
            regions[:, rows, columns, :] = count
            count += 1
    windows = regions.view(1, side // window, window, side // window, window, 1)
    windows = windows.permute(0, 1, 3, 2, 4, 5).reshape(-1, window * window)
    difference = windows.unsqueeze(1) - windows.unsqueeze(2)
    mask = difference.masked_fill(difference != 0, -100.0).masked_fill(difference == 0, 0.0)
    return torch.softmax(scores + mask.unsqueeze(1), dim=-1)


def shaw_relative_shift(scores):
    """Transformer-XL: skew (length, 2 * length - 1) so that column j means key j."""
    batch, length, width = scores.shape
    padded = F.pad(scores, (0, 1)).view(batch, -1)
    return F.pad(padded, (0, width - length)).view(batch, length + 1, width)[:, :length, length - 1 :]


def mixture_of_experts(x, gate, up, down):
    """Every expert computes every token; the two best are kept."""
    scores = torch.softmax(x @ gate, dim=-1)
    weight, chosen = torch.topk(scores, 2, dim=-1)
    weight = weight / weight.sum(-1, keepdim=True)
    dense = torch.zeros_like(scores).scatter(-1, chosen, weight)
    hidden = F.silu(torch.einsum("nd,edf->nef", x, up))
    return torch.einsum("nef,efd,ne->nd", hidden, down, dense)


class SwiGlu(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.gate, self.up, self.down = (nn.Linear(*shape, bias=False) for shape in ((size, hidden), (size, hidden), (hidden, size)))

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class GegluPacked(nn.Module):
    def __init__(self):
        super().__init__()
        self.both, self.down = nn.Linear(6, 20), nn.Linear(10, 6)

    def forward(self, x):
        value, gate = self.both(x).chunk(2, dim=-1)
        return self.down(value * F.gelu(gate))


class LayerScaleResidual(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(6), nn.Linear(6, 6)
        self.scale = nn.Parameter(torch.full((6,), 0.1))

    def forward(self, x):
        return x + self.scale * self.linear(self.norm(x))


def cases():
    generator = torch.Generator().manual_seed(121)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    torch.manual_seed(121)
    q, k, scores = normal(2, 2, 5, 8), normal(2, 2, 5, 8), normal(2, 2, 7, 7)
    table = {
        "rope_half": (rope_half, q, k),
        "rope_interleaved": (rope_interleaved, q),
        "rope_partial": (lambda x: rope_partial(x, 4), q),
        "rope_at_positions": (rope_at_positions, q, torch.tensor([[0, 1, 2, 3, 4], [9, 10, 11, 12, 13]])),
        "rope_two_axes": (lambda x: rope_two_axes(x, 2, 3), normal(2, 6, 8)),
        "rope_then_attention": (lambda q, k, v: F.scaled_dot_product_attention(*rope_half(q, k), v, is_causal=True), q, k, normal(2, 2, 5, 8)),
        "mask_causal_by_comparison": (causal_by_comparison, scores),
        "mask_causal_by_triu": (causal_by_triu, scores),
        "mask_sliding_window": (lambda s: sliding_window(s, 3), scores),
        "mask_causal_with_past": (causal_with_past, normal(2, 2, 3, 7)),
        "mask_prefix": (lambda s: prefix_mask(s, 3), scores),
        "mask_padding": (padding_mask, scores, torch.tensor([7, 4])),
        "mask_documents": (document_mask, scores, torch.tensor([[0, 0, 0, 1, 1, 1, 1], [0, 1, 1, 2, 2, 2, 2]])),
        "bias_alibi": (alibi, scores),
        "bias_t5_buckets": (lambda x: x * t5_buckets(12, x.dtype), normal(12, 12)),
        "bias_t5": (t5_bias, scores, normal(8, 2)),
        "bias_swin_table": (lambda s, t: swin_bias(s, t, 3), normal(4, 2, 9, 9), normal(25, 2)),
        "bias_swin_shift_mask": (lambda s: swin_shift_mask(s, 6, 3, 1), normal(4, 2, 9, 9)),
        "bias_relative_shift": (shaw_relative_shift, normal(2, 4, 7)),
        "swiglu": (SwiGlu(6, 11), normal(2, 3, 6)),
        "geglu_packed": (GegluPacked(), normal(2, 3, 6)),
        "layer_scale_residual": (LayerScaleResidual(), normal(2, 3, 6)),
        "mixture_of_experts": (mixture_of_experts, normal(5, 6), normal(6, 4), normal(4, 6, 3), normal(4, 3, 6)),
        "tied_embedding_logits": (lambda i, w: F.linear(F.embedding(i, w).cumsum(1), w), torch.tensor([[1, 4, 2], [0, 0, 3]]), normal(5, 6)),
        "shifted_next_token_loss": (lambda x, i: F.cross_entropy(x[:, :-1].reshape(-1, 5), i[:, 1:].reshape(-1)), normal(2, 4, 5), torch.tensor([[1, 4, 2, 0], [0, 0, 3, 2]])),
        "time_embedding": (lambda t: torch.cat((torch.sin(t[:, None] * torch.exp(-math.log(50.0) * torch.arange(4, dtype=t.dtype) / 4)), torch.cos(t[:, None] * torch.exp(-math.log(50.0) * torch.arange(4, dtype=t.dtype) / 4))), -1), 5 * normal(3).abs()),
    }
    for name, (run, *inputs) in table.items():
        yield Case(f"llm_{name}", run, tuple(inputs))
