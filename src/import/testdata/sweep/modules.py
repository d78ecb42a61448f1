"""Small models of our own: what people write besides plain layers."""

import torch
import torch.nn.functional as F
from torch import nn

from stitchcuda_torch.cases.case import Case

g = torch.Generator()


def r(*shape):
    return torch.randn(*shape, generator=g)


def integers(high, *shape):
    return torch.randint(0, high, shape, generator=g)


class Module(nn.Module):
    """A function with state."""

    def __init__(self, function, buffers=(), **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            if isinstance(part, nn.Module):
                setattr(self, name, part)
            elif name in buffers:
                self.register_buffer(name, part)
            else:
                setattr(self, name, nn.Parameter(part) if part.is_floating_point() or part.is_complex() else part)

    def forward(self, *inputs):
        return self.function(self, *inputs)


def cases(samples):
    g.manual_seed(5)
    for name, build in table().items():
        yield name, build


def shared_buffer():
    t = torch.zeros(3)
    return Module(lambda m, x: (m.a.add_(x), m.b + x)[1], buffers=("a", "b"), a=t, b=t)


def shared_slice():
    t = torch.zeros(4)
    return Module(lambda m, x: (m.a.add_(1), m.b + x)[1], buffers=("a", "b"), a=t, b=t[:3])


def autocast(dtype, device="cpu"):
    def run(m, x):
        with torch.autocast(device, dtype=dtype):
            y = m.layer(x)
            z = torch.softmax(y, -1) + F.layer_norm(x, (6,))[:, :4]
            return torch.relu(y) @ z.mT, z.sum(), y.float()
    return Module(run, layer=nn.Linear(6, 4))


def bag(mode, **more):
    return nn.EmbeddingBag(10, 4, mode=mode, **more)


def grid(mode, padding, corners, dims=2):
    def run(m, x, where):
        return F.grid_sample(x, where, mode=mode, padding_mode=padding, align_corners=corners)
    return run


def rope(m, x):
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * m.freqs).flatten(-2)


def table():
    square = lambda n, *b: r(*b, n, n) + 3 * torch.eye(n)  # noqa: E731
    t = {
        "shared_buffer": lambda: Case("", shared_buffer(), (r(3),)),
        "shared_slice": lambda: Case("", shared_slice(), (r(3),)),
        "aliased_inputs_written": lambda: Case("", Module(lambda m, a, b: (a.add_(1), b * 2)[1]), (lambda x: (x, x))(r(3))),
        "aliased_inputs_read": lambda: Case("", Module(lambda m, a, b: a * b), (lambda x: (x, x))(r(3))),
        "aliased_inputs_slices": lambda: Case("", Module(lambda m, a, b: (a.add_(1), b * 2)[1]), (lambda x: (x[:2], x[1:3]))(r(3))),
        "input_written": lambda: Case("", Module(lambda m, a: a.mul_(2) + 1), (r(3),)),
        "autocast_bf16": lambda: Case("", autocast(torch.bfloat16), (r(5, 6),), tolerance=1e-1),
        "autocast_f16": lambda: Case("", autocast(torch.float16), (r(5, 6),), tolerance=1e-1),
        "autocast_cuda": lambda: Case("", autocast(torch.float16, "cuda"), (r(5, 6),)),
        "no_grad": lambda: Case("", Module(lambda m, x: no_grad(m, x), layer=nn.Linear(3, 3)), (r(2, 3),)),
        "inference_mode": lambda: Case("", Module(lambda m, x: inference(m, x), layer=nn.Linear(3, 3)), (r(2, 3),)),
        "checkpoint": lambda: Case("", Module(lambda m, x: torch.utils.checkpoint.checkpoint(m.layer, x, use_reentrant=False), layer=nn.Linear(3, 3)), (r(2, 3),)),
        "compiled_submodule": lambda: Case("", Module(lambda m, x: m.layer(x) + 1, layer=torch.compile(nn.Linear(3, 3))), (r(2, 3),)),
        "scripted_function": lambda: Case("", Module(lambda m, x: torch.jit.script(scripted)(x)), (r(2, 3),)),
        "out_add": lambda: Case("", Module(lambda m, a, b: torch.add(a, b, out=torch.empty(3))), (r(3), r(3))),
        "out_matmul": lambda: Case("", Module(lambda m, a, b: out_matmul(a, b)), (r(3, 4), r(4, 2))),
        "out_slice": lambda: Case("", Module(lambda m, a, b: out_slice(a, b)), (r(3), r(3))),
        "out_cat": lambda: Case("", Module(lambda m, a, b: torch.cat([a, b], out=torch.empty(6))), (r(3), r(3))),
        "out_sort": lambda: Case("", Module(lambda m, a: tuple(torch.sort(a, out=(torch.empty(4), torch.empty(4, dtype=torch.int64))))), (r(4),)),
        "out_clamp": lambda: Case("", Module(lambda m, a: torch.clamp(a, -1, 1, out=torch.empty_like(a))), (r(4),)),
        "out_sum": lambda: Case("", Module(lambda m, a: torch.sum(a, 1, out=torch.empty(3))), (r(3, 4),)),
        "histc": lambda: Case("", Module(lambda m, x: torch.histc(x, 8, -2, 2)), (r(40),)),
        "histc_own_range": lambda: Case("", Module(lambda m, x: torch.histc(x, 5)), (r(40),)),
        "histc_constant": lambda: Case("", Module(lambda m, x: torch.histc(x, 5)), (torch.full((4,), 2.0),)),
        "histc_integers": lambda: Case("", Module(lambda m, x: torch.histc(x.float(), 6, 0, 5)), (integers(6, 30),)),
        "bincount": lambda: Case("", Module(lambda m, x: torch.bincount(x, minlength=7)), (integers(6, 30),)),
        "grouped_mm_rows": lambda: Case("", Module(lambda m, x: torch._grouped_mm(x.bfloat16(), m.w.bfloat16(), offs=torch.tensor([3, 3, 8], dtype=torch.int32)), w=r(3, 16, 8)), (r(8, 16),), tolerance=1e-1),
        "grouped_mm_functional": lambda: Case("", Module(lambda m, x, o: F.grouped_mm(x, m.w, offs=o), w=r(3, 16, 8)), (r(8, 16), torch.tensor([3, 3, 8], dtype=torch.int32))),
        "grouped_mm_batched": lambda: Case("", Module(lambda m, x: F.grouped_mm(x, m.w), w=r(3, 16, 8)), (r(3, 8, 16),)),
        "grouped_mm_columns": lambda: Case("", Module(lambda m, x: F.grouped_mm(x, m.w, offs=torch.tensor([8, 16, 24], dtype=torch.int32)), w=r(16, 24)), (r(3, 8, 16),)),
        "grouped_mm_depth": lambda: Case("", Module(lambda m, x: F.grouped_mm(x, m.w, offs=torch.tensor([8, 8, 24], dtype=torch.int32)), w=r(24, 16)), (r(8, 24),)),
        "complex_rope": lambda: Case("", Module(rope, freqs=torch.polar(torch.ones(6, 4), r(6, 4)), buffers=("freqs",)), (r(2, 6, 8),)),
        "polar": lambda: Case("", Module(lambda m, a, b: torch.view_as_real(torch.polar(a, b) * torch.complex(b, a))), (r(3).abs(), r(3))),
        "complex_abs_angle": lambda: Case("", Module(lambda m, x: (lambda z: (z.abs(), z.angle(), z.real, z.imag, (z * z.conj()).real))(torch.view_as_complex(x))), (r(3, 4, 2),)),
        "fnet": lambda: Case("", Module(lambda m, x: torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real), (r(2, 5, 8),)),
        "spectral_filter": lambda: Case("", Module(lambda m, x: torch.fft.irfft2(torch.fft.rfft2(x, norm="ortho") * torch.view_as_complex(m.w), s=(6, 8), norm="ortho"), w=r(6, 5, 2)), (r(2, 6, 8),)),
        "fft_conv": lambda: Case("", Module(lambda m, x: torch.fft.irfft(torch.fft.rfft(x, n=16) * torch.fft.rfft(m.k, n=16), n=16)[..., :8], k=r(8)), (r(2, 8),)),
        "fft_large": lambda: Case("", Module(lambda m, x: torch.fft.rfft(x).abs()), (r(1, 4096),)),
        "fft_prime": lambda: Case("", Module(lambda m, x: torch.view_as_real(torch.fft.fft(x))), (r(2, 101),)),
        "stft": lambda: Case("", Module(lambda m, x: torch.stft(x, 16, hop_length=4, window=torch.hann_window(16), return_complex=True).abs()), (r(2, 64),)),
        "stft_not_centred": lambda: Case("", Module(lambda m, x: torch.view_as_real(torch.stft(x, 16, hop_length=8, win_length=12, window=m.w, center=False, normalized=True, onesided=False, return_complex=True)), w=torch.hann_window(12)), (r(64),)),
        "istft": lambda: Case("", Module(lambda m, x: torch.istft(torch.stft(x, 16, hop_length=4, window=torch.hann_window(16), return_complex=True), 16, hop_length=4, window=torch.hann_window(16), length=64)), (r(2, 64),)),
        "mel": lambda: Case("", Module(lambda m, x: torch.log(torch.stft(x, 16, 4, window=m.w, return_complex=True).abs().pow(2).transpose(1, 2) @ m.f + 1e-6), w=torch.hann_window(16), f=r(9, 5).abs()), (r(2, 64),)),
        "affine_grid": lambda: Case("", Module(lambda m, x, a: F.grid_sample(x, F.affine_grid(a, x.shape, align_corners=False), align_corners=False)), (r(2, 3, 6, 7), r(2, 2, 3))),
        "affine_grid_corners": lambda: Case("", Module(lambda m, a: F.affine_grid(a, (2, 3, 4, 5), align_corners=True)), (r(2, 2, 3),)),
        "affine_grid_3d": lambda: Case("", Module(lambda m, a: F.affine_grid(a, (2, 3, 4, 5, 6), align_corners=False)), (r(2, 3, 4),)),
        "roi_align": lambda: Case("", Module(lambda m, x, b: vision().roi_align(x, b, (3, 3), 0.5, 2, True)), (r(2, 3, 8, 8), torch.tensor([[0, 1.0, 2, 9, 11], [1, 0, 0, 15, 15], [0, -3, -2, 5, 30]]))),
        "roi_align_not_aligned": lambda: Case("", Module(lambda m, x, b: vision().roi_align(x, b, 2, 1.0, 3, False)), (r(2, 3, 8, 8), torch.tensor([[0, 1.0, 2, 1.2, 2.1], [1, 0, 0, 7, 7]]))),
        "roi_align_adaptive": lambda: Case("", Module(lambda m, x, b: vision().roi_align(x, b, 2)), (r(2, 3, 8, 8), torch.tensor([[0, 1.0, 2, 5, 7], [1, 0, 0, 7, 7]]))),
        "roi_pool": lambda: Case("", Module(lambda m, x, b: vision().roi_pool(x, b, 2)), (r(2, 3, 8, 8), torch.tensor([[0, 1.0, 2, 5, 7], [1, 0, 0, 7, 7]]))),
        "deform_conv": lambda: Case("", Module(lambda m, x, o: vision().deform_conv2d(x, o, m.w, m.b, padding=1), w=r(5, 4, 3, 3), b=r(5)), (r(2, 4, 7, 8), r(2, 18, 7, 8))),
        "deform_conv_masked": lambda: Case("", Module(lambda m, x, o, k: vision().deform_conv2d(x, o, m.w, None, stride=2, padding=(1, 0), dilation=(1, 2), mask=k), w=r(6, 2, 3, 2)), (r(2, 4, 7, 8), r(2, 24, 4, 3), r(2, 12, 4, 3).sigmoid())),
        "nms": lambda: Case("", Module(lambda m, b, s: vision().nms(b, s, 0.5)), (r(6, 4), r(6))),
        "bag_sum": lambda: Case("", bag("sum"), (integers(10, 3, 5),)),
        "bag_mean": lambda: Case("", bag("mean"), (integers(10, 3, 5),)),
        "bag_max": lambda: Case("", bag("max"), (integers(10, 3, 5),)),
        "bag_offsets": lambda: Case("", bag("sum"), (integers(10, 7), torch.tensor([0, 3, 3, 5]))),
        "bag_offsets_mean": lambda: Case("", bag("mean"), (integers(10, 7), torch.tensor([0, 3, 3, 5]))),
        "bag_offsets_max": lambda: Case("", bag("max"), (integers(10, 7), torch.tensor([0, 3, 3, 5]))),
        "bag_last_offset": lambda: Case("", bag("mean", include_last_offset=True), (integers(10, 7), torch.tensor([0, 3, 3, 7]))),
        "bag_padding": lambda: Case("", bag("mean", padding_idx=2), (integers(4, 7), torch.tensor([0, 3, 3, 5]))),
        "bag_weighted": lambda: Case("", Module(lambda m, i, w: F.embedding_bag(i, m.table, per_sample_weights=w, mode="sum"), table=r(10, 4)), (integers(10, 3, 5), r(3, 5))),
        "embedding_max_norm": lambda: Case("", nn.Embedding(10, 4, max_norm=1.0), (integers(10, 3, 5),)),
        "inverse": lambda: Case("", Module(lambda m, x: torch.linalg.inv(x)), (square(5, 2),)),
        "inverse_pivots": lambda: Case("", Module(lambda m, x: torch.inverse(x)), (torch.tensor([[0.0, 1, 2], [3, 0, 1], [1, 1, 0]]),)),
        "solve": lambda: Case("", Module(lambda m, a, b: torch.linalg.solve(a, b)), (square(5, 2), r(2, 5, 3))),
        "solve_vector": lambda: Case("", Module(lambda m, a, b: torch.linalg.solve(a, b)), (square(5), r(5))),
        "solve_left": lambda: Case("", Module(lambda m, a, b: torch.linalg.solve(a, b, left=False)), (square(5), r(3, 5))),
        "cholesky": lambda: Case("", Module(lambda m, x: torch.linalg.cholesky(x @ x.mT + torch.eye(5))), (r(2, 5, 5),)),
        "cholesky_upper": lambda: Case("", Module(lambda m, x: torch.linalg.cholesky(x @ x.mT + torch.eye(5), upper=True)), (r(5, 5),)),
        "cholesky_solve": lambda: Case("", Module(lambda m, x, b: torch.cholesky_solve(b, torch.linalg.cholesky(x @ x.mT + torch.eye(5)))), (r(5, 5), r(5, 2))),
        "cholesky_inverse": lambda: Case("", Module(lambda m, x: torch.cholesky_inverse(torch.linalg.cholesky(x @ x.mT + torch.eye(5)))), (r(5, 5),)),
        "triangular_solve": lambda: Case("", Module(lambda m, a, b: torch.linalg.solve_triangular(a.tril(), b, upper=False)), (square(5), r(5, 2))),
        "triangular_solve_unit": lambda: Case("", Module(lambda m, a, b: torch.linalg.solve_triangular(a.triu(), b, upper=True, unitriangular=True, left=False)), (square(5), r(2, 5))),
        "qr": lambda: Case("", Module(lambda m, x: tuple(torch.linalg.qr(x))), (r(2, 6, 4),)),
        "qr_wide": lambda: Case("", Module(lambda m, x: tuple(torch.linalg.qr(x))), (r(4, 6),)),
        "qr_complete": lambda: Case("", Module(lambda m, x: tuple(torch.linalg.qr(x, mode="complete"))), (r(6, 4),)),
        "qr_r": lambda: Case("", Module(lambda m, x: torch.linalg.qr(x, mode="r")[1]), (r(6, 4),)),
        "slogdet": lambda: Case("", Module(lambda m, x: tuple(torch.linalg.slogdet(x))), (square(5, 2),)),
        "det": lambda: Case("", Module(lambda m, x: (torch.linalg.det(x), torch.logdet(x @ x.mT))), (square(4, 2),)),
        "lu": lambda: Case("", Module(lambda m, x: tuple(torch.linalg.lu(x))), (square(4, 2),)),
        "lu_factor": lambda: Case("", Module(lambda m, x: tuple(torch.linalg.lu_factor(x))), (square(4, 2),)),
        "pinv": lambda: Case("", Module(lambda m, x: torch.linalg.pinv(x)), (r(5, 3),)),
        "svd": lambda: Case("", Module(lambda m, x: torch.linalg.svdvals(x)), (r(5, 3),)),
        "eigh": lambda: Case("", Module(lambda m, x: torch.linalg.eigvalsh(x + x.mT)), (r(4, 4),)),
        "lstsq": lambda: Case("", Module(lambda m, a, b: torch.linalg.lstsq(a, b)[0]), (r(6, 3), r(6, 2))),
        "matrix_exp": lambda: Case("", Module(lambda m, x: torch.matrix_exp(x)), (r(4, 4),)),
        "int_mm": lambda: Case("", Module(lambda m, a, b: torch._int_mm(a, b)), (integers(100, 18, 16).to(torch.int8), integers(100, 16, 8).to(torch.int8))),
        "fake_quantize": lambda: Case("", Module(lambda m, x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -128, 127)), (r(4, 5) * 10,)),
        "fake_quantize_channels": lambda: Case("", Module(lambda m, x, s: torch.fake_quantize_per_channel_affine(x, s, torch.zeros(5, dtype=torch.int32), 1, -8, 7)), (r(4, 5) * 10, r(5).abs() + 0.1)),
        "multinomial": lambda: Case("", Module(lambda m, x: torch.multinomial(torch.softmax(x, -1), 3)), (r(2, 6),)),
        "exponential": lambda: Case("", Module(lambda m, x: torch.empty_like(x).exponential_(2.0)), (r(2, 6),)),
        "gumbel_softmax": lambda: Case("", Module(lambda m, x: F.gumbel_softmax(x, hard=True)), (r(2, 6),)),
        "randperm": lambda: Case("", Module(lambda m, x: x[torch.randperm(6)]), (r(6, 2),)),
        "alpha_dropout": lambda: Case("", nn.AlphaDropout(0.3), (r(6, 2),)),
        "flex_attention": lambda: Case("", Module(lambda m, q: flex(q)), (r(1, 2, 16, 8),)),
        "mha": lambda: Case("", Module(lambda m, x: m.a(x, x, x, need_weights=True), a=nn.MultiheadAttention(8, 2, batch_first=True)), (r(2, 5, 8),)),
        "transformer": lambda: Case("", nn.Transformer(8, 2, 1, 1, 16, batch_first=True, dropout=0.0), (r(2, 5, 8), r(2, 4, 8))),
        "packed_rnn": lambda: Case("", Module(lambda m, x: packed(m, x), rnn=nn.GRU(3, 4, batch_first=True)), (r(2, 5, 3),)),
        "cond": lambda: Case("", Module(lambda m, x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))), (r(3),)),
        "ctc": lambda: Case("", Module(lambda m, x: F.ctc_loss(x.log_softmax(-1), torch.tensor([[1, 2, 2], [3, 1, 0]]), torch.tensor([6, 6]), torch.tensor([3, 2]))), (r(6, 2, 5),)),
        "complex_input": lambda: Case("", Module(lambda m, x: x.abs()), (torch.complex(r(3), r(3)),)),
        "complex_output": lambda: Case("", Module(lambda m, x: torch.fft.fft(x)), (r(4),)),
        "nonzero": lambda: Case("", Module(lambda m, x: x[x > 0]), (r(4),)),
        "masked_scatter": lambda: Case("", Module(lambda m, x, y: x.masked_scatter(x > 0, y)), (r(4, 3), r(12))),
        "index_put_mask": lambda: Case("", Module(lambda m, x: x.clone().index_put_((x > 0,), torch.tensor(0.0))), (r(4, 3),)),
        "weight_norm": lambda: Case("", nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)), (r(2, 3),)),
        "spectral_norm": lambda: Case("", nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4)), (r(2, 3),), eval=True),
        "orthogonal": lambda: Case("", nn.utils.parametrizations.orthogonal(nn.Linear(4, 4)), (r(2, 4),), eval=True),
        "cosine_embedding": lambda: Case("", Module(lambda m, a, b: F.cosine_similarity(a, b)), (r(3, 4), r(3, 4))),
        "pairwise": lambda: Case("", Module(lambda m, a: (F.pdist(a), torch.cdist(a, a, p=1.0), F.pairwise_distance(a, a + 1))), (r(4, 3),)),
        "bfloat_model": lambda: Case("", nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8)).bfloat16(), (r(2, 8).bfloat16(),)),
        "half_model": lambda: Case("", nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).half(), (r(2, 3, 6, 6).half(),), eval=True),
    }
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (False, True):
                t[f"grid_{mode}_{padding}_{corners}"] = lambda a=(mode, padding, corners): Case("", Module(grid(*a)), (r(2, 3, 5, 6), 1.3 * r(2, 4, 3, 2)))
    for mode in ("bilinear", "nearest"):
        t[f"grid_3d_{mode}"] = lambda mode=mode: Case("", Module(grid(mode, "border", False)), (r(2, 3, 4, 5, 6), r(2, 3, 2, 4, 3)))
    return t


def vision():
    import torchvision.ops
    return torchvision.ops


def no_grad(m, x):
    with torch.no_grad():
        return m.layer(x)


def inference(m, x):
    with torch.inference_mode():
        return m.layer(x)


def scripted(x):
    return x * 2 + 1


def out_matmul(a, b):
    y = torch.empty(3, 2)
    torch.matmul(a, b, out=y)
    return y + 1


def out_slice(a, b):
    y = torch.zeros(6)
    torch.mul(a, b, out=y[3:])
    return y


def flex(q):
    from torch.nn.attention.flex_attention import flex_attention
    return flex_attention(q, q, q, score_mod=lambda s, b, h, i, j: s + (i - j))


def packed(m, x):
    p = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3]), batch_first=True)
    return nn.utils.rnn.pad_packed_sequence(m.rnn(p)[0], batch_first=True)[0]
