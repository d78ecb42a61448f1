"""Complex numbers inside a model, and Fourier transforms."""
import torch
from torch import nn

from stitchcuda_torch.cases.case import Case


class Rotary(nn.Module):
    """Rotary positions as Llama's first release wrote them."""

    def __init__(self):
        super().__init__()
        angles = torch.outer(torch.arange(6.0), 1 / 10 ** torch.arange(4.0))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))

    def forward(self, x):
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * self.turns).flatten(-2)


class Filter(nn.Module):
    """A global filter: multiplied in the frequency domain."""

    def __init__(self, generator):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, 5, 2, generator=generator))

    def forward(self, x):
        return torch.fft.irfft2(torch.fft.rfft2(x, norm="ortho") * torch.view_as_complex(self.weight), s=x.shape[-2:], norm="ortho")


def arithmetic(x, y):
    a, b = torch.view_as_complex(x), torch.view_as_complex(y)
    results = (a + b, a - 2 * b, a * b, a / b, a * (0.5 + 2j), a.conj(), a.exp(), a**2, a @ b.mT, torch.cat([a, b]), a.mT, a.mH, a @ b.adjoint(), a[:, 1:], a.sum(0))
    return (*(torch.view_as_real(z.resolve_conj()) for z in results), a.abs(), a.angle(), a.real, a.imag, a == b)


def spectrum(x, window):
    frames = torch.stft(x, 16, hop_length=4, window=window, return_complex=True)
    return frames.abs(), torch.istft(frames, 16, hop_length=4, window=window, length=x.shape[-1])


def written(x):
    """Spectral convolutions and scans write complex results to slices of zeros."""
    z = torch.view_as_complex(x)
    y = torch.zeros(5, 3, dtype=z.dtype)
    y[::2] = z
    y[1::2, :2] = z[:2, 1:] * 2j
    y[0].fill_(1.5)
    y[:, 0] *= y[:, 1].clone()
    y.imag[4] = 7
    y[3, 2].zero_()
    return torch.view_as_real(y), torch.linalg.vector_norm(y, dim=1), y.norm()


def layers(x, weight, bias):
    z, w, b = (torch.view_as_complex(part) for part in (x, weight, bias))
    return torch.view_as_real(nn.functional.linear(z, w, b)), torch.view_as_real(nn.functional.conv1d(z[None], w[:, :3, None], b, padding=1))


def cases():
    generator = torch.Generator().manual_seed(132)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    yield Case("arithmetic", arithmetic, (normal(3, 4, 2), normal(3, 4, 2)))
    yield Case("written", written, (normal(3, 3, 2),))
    yield Case("layers", layers, (normal(3, 4, 2), normal(5, 4, 2), normal(5, 2)))
    yield Case("rotary", Rotary(), (normal(2, 6, 8),))
    yield Case("filter", Filter(generator), (normal(2, 6, 8),))
    yield Case("fnet", lambda x: torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real, (normal(2, 5, 8),))
    yield Case("sizes", lambda x: tuple(torch.view_as_real(torch.fft.fft(x, n=n)) for n in (1, 7, 12)), (normal(2, 9),))
    yield Case("long", lambda x: torch.fft.rfft(x).abs(), (normal(1, 1200),))
    yield Case("back", lambda x: (torch.fft.irfft(torch.view_as_complex(x), n=7), torch.fft.irfft(torch.view_as_complex(x)), torch.fft.hfft(torch.view_as_complex(x))), (normal(2, 5, 2),))
    yield Case("several_dims", lambda x: (torch.view_as_real(torch.fft.fftshift(torch.fft.fftn(x, norm="forward"))), torch.fft.irfftn(torch.fft.rfftn(x), s=x.shape)), (normal(3, 4, 5),))
    yield Case("stft", spectrum, (normal(2, 64), torch.hann_window(16)))
