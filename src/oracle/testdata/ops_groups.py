"""Elements in groups: embedding bags, histograms, experts; results written to out=; regions of autocast."""
import torch
import torch.nn.functional as F
from torch import nn

from stitchcuda_torch.cases.case import Case


class Experts(nn.Module):
    """A mixture of experts as transformers computes it: tokens sorted by expert, one product a group."""

    def __init__(self, generator, experts=4):
        super().__init__()
        self.router = nn.Parameter(torch.randn(experts, 8, generator=generator))
        self.up = nn.Parameter(torch.randn(experts, 8, 16, generator=generator))
        self.down = nn.Parameter(torch.randn(experts, 16, 8, generator=generator))

    def forward(self, x):
        scores, chosen = torch.topk(torch.softmax(x @ self.router.T, -1), 2, dim=-1)
        order = torch.argsort(chosen.flatten(), stable=True)
        sizes = torch.histc(chosen.flatten().float(), bins=4, min=0, max=3)
        ends = sizes.cumsum(0, dtype=torch.int32)
        rows = x[order // 2]
        hidden = torch._grouped_mm(rows.bfloat16(), self.up.bfloat16(), offs=ends).float()
        out = torch._grouped_mm(F.silu(hidden).bfloat16(), self.down.bfloat16(), offs=ends).float()
        return torch.zeros_like(x).index_add(0, order // 2, out * scores.flatten()[order, None])


class Autocast(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.norm = nn.Linear(6, 4), nn.LayerNorm(4)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.norm(self.layer(x))
            with torch.autocast("cpu", enabled=False):
                z = x[:, :4] * 2
            return (torch.relu(y) + z).float(), torch.softmax(y, -1).float()


def into_slice(a, b):
    y = torch.zeros(6)
    torch.mul(a, b, out=y[3:])
    return y


def into_several(x):
    values, places = torch.empty(4), torch.empty(4, dtype=torch.int64)
    torch.sort(x, out=(values, places))
    return values + 1, places


def cases():
    generator = torch.Generator().manual_seed(134)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    def whole(high, *shape):
        return torch.randint(0, high, shape, generator=generator)

    table, offsets = normal(10, 4), torch.tensor([0, 3, 3, 5])
    for mode in ("sum", "mean", "max"):
        yield Case(f"bag_{mode}", lambda i, j, o, t, mode=mode: (F.embedding_bag(i, t, mode=mode), F.embedding_bag(j, t, o, mode=mode), F.embedding_bag(
            j, t, o, mode=mode, padding_idx=2)), (whole(10, 3, 5), whole(4, 7), offsets, table))
    yield Case("bag_weighted", lambda i, w, t: F.embedding_bag(i, t, per_sample_weights=w, mode="sum"), (whole(10, 3, 5), normal(3, 5), table))
    yield Case("bag_last_offset", lambda i, o, t: F.embedding_bag(i, t, o, mode="mean", include_last_offset=True), (whole(10, 7), torch.tensor([0, 3, 3, 7]), table))
    yield Case("histc", lambda x: (torch.histc(x, 8, -2, 2), torch.histc(x, 5), torch.histc(x * 0 + 2, 5)), (normal(40),))
    yield Case("bincount", lambda x, w: (torch.bincount(x.argmax(1), minlength=5), x.topk(2).indices.flatten().bincount(weights=w, minlength=9),
                                         (x[0] * 9).long().clamp(0, 3).bincount(minlength=4)), (normal(6, 5), normal(12)))
    yield Case("quantile", lambda x: (x.quantile(torch.tensor([0.125, 0.5, 1.0]), dim=1), torch.quantile(x, 0.25, interpolation="nearest"),
                                      torch.nanquantile(torch.where(x > 1, torch.nan, x), 0.75, dim=0, keepdim=True)), (normal(6, 5),))
    yield Case("experts", Experts(generator), (normal(6, 8),), tolerance=1e-9)
    offs = torch.tensor([3, 3, 8], dtype=torch.int32)
    yield Case("grouped_rows", lambda x, w, o: torch._grouped_mm(x, w, offs=o), (normal(8, 16).bfloat16(), normal(3, 16, 8).bfloat16(), offs))
    yield Case("grouped_columns", lambda x, w: torch._grouped_mm(x, w, offs=torch.tensor([8, 16, 24], dtype=torch.int32)), (normal(3, 8, 16).bfloat16(), normal(16, 24).bfloat16()))
    yield Case("grouped_depth", lambda x, w: torch._grouped_mm(x, w, offs=torch.tensor([8, 8, 24], dtype=torch.int32)), (normal(8, 24).bfloat16(), normal(24, 16).bfloat16()))
    yield Case("out_slice", into_slice, (normal(3), normal(3)))
    yield Case("out_several", into_several, (normal(4),))
    yield Case("out_product", lambda a, b: torch.matmul(a, b, out=torch.empty(3, 2)) + torch.sum(a, 1, keepdim=True, out=torch.empty(3, 1)), (normal(3, 4), normal(4, 2)))
    yield Case("autocast", Autocast(), (normal(5, 6),))
    yield Case("compiled", nn.Sequential(torch.compile(nn.Linear(3, 3)), nn.ReLU()), (normal(2, 3),))
    yield Case("masked_scatter", lambda x, y: x.masked_scatter(x > 0, y), (normal(4, 3), normal(12)))
    yield Case("int_mm", torch._int_mm, (whole(100, 18, 16).to(torch.int8), whole(100, 16, 8).to(torch.int8)))
    yield Case("fake_quantize", lambda x: torch.fake_quantize_per_tensor_affine(x, 0.125, 3, -128, 127), (10 * normal(4, 5),))
