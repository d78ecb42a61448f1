"""spline_flow: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

def searchsorted(bin_locations, inputs, eps=1e-6):
    bin_locations[..., -1] += eps
    return torch.sum(inputs[..., None] >= bin_locations, dim=-1) - 1


def rational_quadratic_spline(inputs, uw, uh, ud, inverse=False, bound=3.0, mw=1e-3, mh=1e-3, md=1e-3):
    inside = (inputs >= -bound) & (inputs <= bound)
    outputs = torch.zeros_like(inputs)
    logabsdet = torch.zeros_like(inputs)
    ud = F.pad(ud, pad=(1, 1))
    const = math.log(math.exp(1 - md) - 1)
    ud[..., 0] = const
    ud[..., -1] = const
    x = inputs.clamp(-bound, bound)
    nb = uw.shape[-1]
    widths = F.softmax(uw, dim=-1)
    widths = mw + (1 - mw * nb) * widths
    cumw = F.pad(torch.cumsum(widths, dim=-1), pad=(1, 0), mode="constant", value=0.0)
    cumw = 2 * bound * cumw - bound
    cumw[..., 0] = -bound
    cumw[..., -1] = bound
    widths = cumw[..., 1:] - cumw[..., :-1]
    derivatives = md + F.softplus(ud)
    heights = mh + (1 - mh * nb) * F.softmax(uh, dim=-1)
    cumh = 2 * bound * F.pad(torch.cumsum(heights, dim=-1), pad=(1, 0), value=0.0) - bound
    cumh[..., 0] = -bound
    cumh[..., -1] = bound
    heights = cumh[..., 1:] - cumh[..., :-1]
    idx = searchsorted(cumh.clone() if inverse else cumw.clone(), x)[..., None]
    pick = lambda t: t.gather(-1, idx)[..., 0]
    icw, iw, ich = pick(cumw), pick(widths), pick(cumh)
    delta = heights / widths
    idl, ider, iderp, ih = pick(delta), pick(derivatives), pick(derivatives[..., 1:]), pick(heights)
    theta = (x - icw) / iw
    t1 = theta * (1 - theta)
    num = ih * (idl * theta.pow(2) + ider * t1)
    den = idl + (ider + iderp - 2 * idl) * t1
    y = ich + num / den
    dnum = idl.pow(2) * (iderp * theta.pow(2) + 2 * idl * t1 + ider * (1 - theta).pow(2))
    lad = torch.log(dnum) - 2 * torch.log(den)
    outputs = torch.where(inside, y, inputs)
    logabsdet = torch.where(inside, lad, logabsdet)
    return outputs, logabsdet


class Model(nn.Module):
    def __init__(self, d=32, hidden=256, bins=8, layers=6):
        super().__init__()
        self.d, self.bins = d, bins
        self.nets = nn.ModuleList([nn.Sequential(nn.Linear(d // 2, hidden), nn.ReLU(), nn.Linear(hidden, d // 2 * (3 * bins - 1))) for _ in range(layers)])

    def forward(self, x):
        total = x.new_zeros(x.shape[0])
        for net in self.nets:
            lower, upper = x[:, : self.d // 2], x[:, self.d // 2:]
            p = net(lower).reshape(-1, self.d // 2, 3 * self.bins - 1)
            uw, uh, ud = torch.split(p, [self.bins, self.bins, self.bins - 1], dim=2)
            upper, ld = rational_quadratic_spline(upper, uw, uh, ud)
            total += ld.sum(dim=1)
            x = torch.cat([upper, lower], dim=1)
        logp = -0.5 * (x ** 2).sum(1) - 0.5 * self.d * math.log(2 * math.pi)
        return x, logp + total


def get_inputs():
    return [torch.randn(4096, 32) * 2]


def get_init_inputs():
    return []
