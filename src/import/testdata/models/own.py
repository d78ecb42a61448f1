"""Models of kinds that no library has: recommenders, graph networks, sequence models, one step of a decoder."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Dlrm(nn.Module):
    """A recommender: embeddings of many categories, their products, two MLPs."""
    def __init__(self, tables=26, rows=20000, width=64):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(13, 256), nn.ReLU(), nn.Linear(256, width), nn.ReLU())
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(nn.Linear(pairs + width, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1))
        i, j = torch.tril_indices(tables + 1, tables + 1, -1)
        self.register_buffer("i", i)
        self.register_buffer("j", j)

    def forward(self, dense, categories):
        low = self.bottom(dense)
        vectors = torch.stack([low] + [table(categories[:, k]) for k, table in enumerate(self.tables)], 1)
        products = vectors @ vectors.transpose(1, 2)
        return torch.sigmoid(self.top(torch.cat([low, products[:, self.i, self.j]], 1)))


class DeepFm(nn.Module):
    def __init__(self, fields=39, rows=10000, width=16):
        super().__init__()
        self.linear, self.table = nn.Embedding(rows, 1), nn.Embedding(rows, width)
        self.deep = nn.Sequential(nn.Linear(fields * width, 400), nn.BatchNorm1d(400), nn.ReLU(), nn.Dropout(0.2),
                                  nn.Linear(400, 400), nn.BatchNorm1d(400), nn.ReLU(), nn.Dropout(0.2), nn.Linear(400, 1))

    def forward(self, x):
        v = self.table(x)
        pairs = 0.5 * (v.sum(1).square() - v.square().sum(1)).sum(1, keepdim=True)
        return torch.sigmoid(self.linear(x).sum(1) + pairs + self.deep(v.flatten(1)))


class GraphConvolution(nn.Module):
    """Message passing: gather, sum over neighbours, linear."""
    def __init__(self, width=128, layers=3):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))

    def forward(self, x, source, target):
        for layer in self.layers:
            x = torch.relu(layer(x + torch.zeros_like(x).index_add(0, target, x[source])))
        return x


class GraphAttention(nn.Module):
    def __init__(self, width=128, heads=4):
        super().__init__()
        self.heads, self.project = heads, nn.Linear(width, width)
        self.left, self.right = nn.Parameter(torch.randn(heads, width // heads)), nn.Parameter(torch.randn(heads, width // heads))

    def forward(self, x, source, target):
        h = self.project(x).view(x.shape[0], self.heads, -1)
        score = F.leaky_relu((h * self.left).sum(-1)[source] + (h * self.right).sum(-1)[target], 0.2).exp()
        total = torch.zeros(x.shape[0], self.heads, device=x.device, dtype=x.dtype).index_add(0, target, score)
        out = torch.zeros_like(h).index_add(0, target, h[source] * score.unsqueeze(-1))
        return (out / (total.unsqueeze(-1) + 1e-9)).flatten(1)


class LstmTagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.rnn = nn.Embedding(20000, 256), nn.LSTM(256, 256, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(512, 32)

    def forward(self, x):
        return self.head(self.rnn(self.table(x))[0])


class Block(nn.Module):
    def __init__(self, width, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.a, self.b = nn.Conv1d(width, width, 3, dilation=dilation), nn.Conv1d(width, width, 3, dilation=dilation)

    def forward(self, x):
        h = torch.relu(self.a(F.pad(x, (self.pad, 0))))
        return torch.relu(x + self.b(F.pad(h, (self.pad, 0))))


class TemporalConvolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*[Block(128, 2 ** k) for k in range(6)])

    def forward(self, x):
        return self.blocks(x)


def double(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(),
                         nn.Conv2d(b, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, w=64):
        super().__init__()
        self.down = nn.ModuleList([double(3, w), double(w, 2 * w), double(2 * w, 4 * w), double(4 * w, 8 * w)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(8 * w, 4 * w, 2, 2), nn.ConvTranspose2d(4 * w, 2 * w, 2, 2),
                                 nn.ConvTranspose2d(2 * w, w, 2, 2)])
        self.join = nn.ModuleList([double(8 * w, 4 * w), double(4 * w, 2 * w), double(2 * w, w)])
        self.head = nn.Conv2d(w, 2, 1)

    def forward(self, x):
        kept = []
        for k, block in enumerate(self.down):
            x = block(x if k == 0 else F.max_pool2d(x, 2))
            kept.append(x)
        for up, join, skip in zip(self.up, self.join, reversed(kept[:-1])):
            x = join(torch.cat([up(x), skip], 1))
        return self.head(x)


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.points = nn.Sequential(nn.Conv1d(3, 64, 1), nn.BatchNorm1d(64), nn.ReLU(), nn.Conv1d(64, 128, 1),
                                    nn.BatchNorm1d(128), nn.ReLU(), nn.Conv1d(128, 1024, 1), nn.BatchNorm1d(1024))
        self.head = nn.Sequential(nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 40))

    def forward(self, x):
        return self.head(self.points(x).amax(2))


class RadianceField(nn.Module):
    def __init__(self, width=256, depth=8):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(60, width)] + [nn.Linear(width, width) for _ in range(depth - 1)])
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        scale = 2.0 ** torch.arange(10, device=x.device, dtype=x.dtype)
        angles = (x.unsqueeze(-1) * scale).flatten(1)
        x = torch.cat([angles.sin(), angles.cos()], 1)
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(x)


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        v = x.float()
        return self.weight * (v * torch.rsqrt(v.square().mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


class Layer(nn.Module):
    def __init__(self, width=1024, heads=16, groups=4, inner=2816):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, groups * self.size, bias=False)
        self.v = nn.Linear(width, groups * self.size, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)
        self.first, self.second = Norm(width), Norm(width)

    def forward(self, x, keys, values, cos, sin):
        b, n, _ = x.shape
        h = self.first(x)
        q = rotate(self.q(h).view(b, n, self.heads, self.size).transpose(1, 2), cos, sin)
        k = rotate(self.k(h).view(b, n, self.groups, self.size).transpose(1, 2), cos, sin)
        v = self.v(h).view(b, n, self.groups, self.size).transpose(1, 2)
        k, v = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        out = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
        x = x + self.o(out.transpose(1, 2).reshape(b, n, -1))
        h = self.second(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h)), k, v


class DecoderStep(nn.Module):
    """One token with a cache of those before it."""
    def __init__(self, layers=8, width=1024, vocabulary=32000):
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(layers))
        self.norm, self.head = Norm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, token, cache, cos, sin):
        x = self.table(token)
        for k, layer in enumerate(self.layers):
            x, _, _ = layer(x, cache[k, 0], cache[k, 1], cos, sin)
        return self.head(self.norm(x))


# Name, what builds it, what it is called with, and in which half precision people run it, too.
MODELS = [
    ("own_dlrm", "Dlrm()", ["torch.randn(2048, 13)", "torch.randint(0, 20000, (2048, 26))"]),
    ("own_deepfm", "DeepFm()", ["torch.randint(0, 10000, (4096, 39))"]),
    ("own_graph_convolution", "GraphConvolution()",
        ["torch.randn(20000, 128)", "torch.randint(0, 20000, (200000,))", "torch.randint(0, 20000, (200000,))"]),
    ("own_graph_attention", "GraphAttention()",
        ["torch.randn(10000, 128)", "torch.randint(0, 10000, (100000,))", "torch.randint(0, 10000, (100000,))"]),
    ("own_lstm_tagger", "LstmTagger()", ["torch.randint(0, 20000, (16, 64))"]),
    ("own_temporal_convolution", "TemporalConvolution()", ["torch.randn(8, 128, 2048)"], "fp16"),
    ("own_u_net", "UNet()", ["torch.randn(4, 3, 128, 128)"], "fp16"),
    ("own_point_net", "PointNet()", ["torch.randn(16, 3, 1024)"]),
    ("own_radiance_field", "RadianceField()", ["torch.randn(65536, 3)"], "fp16"),
    ("own_decoder_step", "DecoderStep()",
        ["torch.randint(0, 32000, (1, 1))", "torch.randn(8, 2, 1, 4, 1023, 64)", "torch.randn(1, 1, 64)", "torch.randn(1, 1, 64)"], "bf16"),
    ("own_decoder_step_batch8", "DecoderStep()",
        ["torch.randint(0, 32000, (8, 1))", "torch.randn(8, 2, 8, 4, 511, 64)", "torch.randn(1, 1, 64)", "torch.randn(1, 1, 64)"], "bf16"),
]
