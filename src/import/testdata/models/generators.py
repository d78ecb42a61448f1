"""In the manner of papers and their repositories, makers of images and sound: GANs, flows, diffusion, fields."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import spectral_norm
from torch.nn.utils.parametrizations import weight_norm


class CycleganGeneratorRes(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.b = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(d, d, 3), nn.InstanceNorm2d(d), nn.ReLU(True),
                               nn.ReflectionPad2d(1), nn.Conv2d(d, d, 3), nn.InstanceNorm2d(d))

    def forward(self, x):
        return x + self.b(x)


class CycleganGenerator(nn.Module):
    def __init__(self, f=64, blocks=9):
        super().__init__()
        m = [nn.ReflectionPad2d(3), nn.Conv2d(3, f, 7), nn.InstanceNorm2d(f), nn.ReLU(True)]
        for k in (1, 2):
            m += [nn.Conv2d(f * k, f * k * 2, 3, 2, 1), nn.InstanceNorm2d(f * k * 2), nn.ReLU(True)]
        m += [CycleganGeneratorRes(f * 4) for _ in range(blocks)]
        for k in (4, 2):
            m += [nn.ConvTranspose2d(f * k, f * k // 2, 3, 2, 1, output_padding=1), nn.InstanceNorm2d(f * k // 2), nn.ReLU(True)]
        m += [nn.ReflectionPad2d(3), nn.Conv2d(f, 3, 7), nn.Tanh()]
        self.model = nn.Sequential(*m)

    def forward(self, x):
        return self.model(x)


class Block(nn.Module):
    def __init__(self, outer, inner, sub=None, outermost=False, innermost=False, inp=None):
        super().__init__()
        self.outermost = outermost
        inp = inp or outer
        down = nn.Conv2d(inp, inner, 4, 2, 1, bias=False)
        if outermost:
            model = [down, sub, nn.ReLU(True), nn.ConvTranspose2d(inner * 2, outer, 4, 2, 1), nn.Tanh()]
        elif innermost:
            model = [nn.LeakyReLU(0.2, True), down, nn.ReLU(True), nn.ConvTranspose2d(inner, outer, 4, 2, 1, bias=False), nn.BatchNorm2d(outer)]
        else:
            model = [nn.LeakyReLU(0.2, True), down, nn.BatchNorm2d(inner), sub, nn.ReLU(True),
                     nn.ConvTranspose2d(inner * 2, outer, 4, 2, 1, bias=False), nn.BatchNorm2d(outer), nn.Dropout(0.5)]
        self.model = nn.Sequential(*model)

    def forward(self, x):
        return self.model(x) if self.outermost else torch.cat([x, self.model(x)], 1)


class Pix2pixUnet(nn.Module):
    def __init__(self, f=64):
        super().__init__()
        b = Block(f * 8, f * 8, innermost=True)
        for _ in range(3):
            b = Block(f * 8, f * 8, b)
        b = Block(f * 4, f * 8, b)
        b = Block(f * 2, f * 4, b)
        b = Block(f, f * 2, b)
        self.model = Block(3, f, b, outermost=True, inp=3)

    def forward(self, x):
        return self.model(x)


class Dense(nn.Module):
    def __init__(self, nf=64, gc=32):
        super().__init__()
        self.conv1 = nn.Conv2d(nf, gc, 3, 1, 1)
        self.conv2 = nn.Conv2d(nf + gc, gc, 3, 1, 1)
        self.conv3 = nn.Conv2d(nf + 2 * gc, gc, 3, 1, 1)
        self.conv4 = nn.Conv2d(nf + 3 * gc, gc, 3, 1, 1)
        self.conv5 = nn.Conv2d(nf + 4 * gc, nf, 3, 1, 1)
        self.lrelu = nn.LeakyReLU(0.2, inplace=True)

    def forward(self, x):
        x1 = self.lrelu(self.conv1(x))
        x2 = self.lrelu(self.conv2(torch.cat((x, x1), 1)))
        x3 = self.lrelu(self.conv3(torch.cat((x, x1, x2), 1)))
        x4 = self.lrelu(self.conv4(torch.cat((x, x1, x2, x3), 1)))
        x5 = self.conv5(torch.cat((x, x1, x2, x3, x4), 1))
        return x5 * 0.2 + x


class RRDB(nn.Module):
    def __init__(self, nf=64):
        super().__init__()
        self.RDB1, self.RDB2, self.RDB3 = Dense(nf), Dense(nf), Dense(nf)

    def forward(self, x):
        return self.RDB3(self.RDB2(self.RDB1(x))) * 0.2 + x


class EsrganRrdb(nn.Module):
    def __init__(self, nf=64, blocks=4):
        super().__init__()
        self.first = nn.Conv2d(3, nf, 3, 1, 1)
        self.trunk = nn.Sequential(*[RRDB(nf) for _ in range(blocks)])
        self.trunk_conv = nn.Conv2d(nf, nf, 3, 1, 1)
        self.up1, self.up2 = nn.Conv2d(nf, nf, 3, 1, 1), nn.Conv2d(nf, nf, 3, 1, 1)
        self.hr, self.last = nn.Conv2d(nf, nf, 3, 1, 1), nn.Conv2d(nf, 3, 3, 1, 1)

    def forward(self, x):
        fea = self.first(x)
        fea = fea + self.trunk_conv(self.trunk(fea))
        fea = F.leaky_relu(self.up1(F.interpolate(fea, scale_factor=2, mode="nearest")), 0.2)
        fea = F.leaky_relu(self.up2(F.interpolate(fea, scale_factor=2, mode="nearest")), 0.2)
        return self.last(F.leaky_relu(self.hr(fea), 0.2))


class EdsrPixelshuffleFp16(nn.Module):
    def __init__(self, f=64, n=8):
        super().__init__()
        self.head = nn.Conv2d(3, f, 3, padding=1)
        self.body = nn.ModuleList(nn.Sequential(nn.Conv2d(f, f, 3, padding=1), nn.ReLU(True), nn.Conv2d(f, f, 3, padding=1)) for _ in range(n))
        self.end = nn.Conv2d(f, f, 3, padding=1)
        self.up = nn.Sequential(nn.Conv2d(f, 4 * f, 3, padding=1), nn.PixelShuffle(2), nn.Conv2d(f, 4 * f, 3, padding=1), nn.PixelShuffle(2))
        self.tail = nn.Conv2d(f, 3, 3, padding=1)
        self.half()

    def forward(self, x):
        x = self.head(x)
        h = x
        for b in self.body:
            h = h + b(h).mul(0.1)
        return self.tail(self.up(x + self.end(h)))


class SpectralNormedGanD(nn.Module):
    def __init__(self, f=64):
        super().__init__()
        self.c1 = spectral_norm(nn.Conv2d(3, f, 4, 2, 1))
        self.c2, self.c3 = spectral_norm(nn.Conv2d(f, 2 * f, 4, 2, 1)), spectral_norm(nn.Conv2d(2 * f, 4 * f, 4, 2, 1))
        self.q, self.k, self.v = (spectral_norm(nn.Conv2d(4 * f, c, 1)) for c in (f // 2, f // 2, 4 * f))
        self.gamma = nn.Parameter(torch.tensor(0.5))
        self.out = spectral_norm(nn.Linear(4 * f, 1))
        self.emb = spectral_norm(nn.Embedding(1000, 4 * f))

    def forward(self, x, y):
        x = F.leaky_relu(self.c3(F.leaky_relu(self.c2(F.leaky_relu(self.c1(x), 0.1)), 0.1)), 0.1)
        b, c, h, w = x.shape
        a = torch.bmm(self.q(x).flatten(2).permute(0, 2, 1), self.k(x).flatten(2)).softmax(-1)
        x = x + self.gamma * torch.bmm(self.v(x).flatten(2), a.permute(0, 2, 1)).view(b, c, h, w)
        x = F.relu(x).sum([2, 3])
        return self.out(x) + (x * self.emb(y)).sum(1, keepdim=True)


class ModConv(nn.Module):
    def __init__(self, i, o, k, style, demod=True, up=False):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(1, o, i, k, k))
        self.mod = nn.Linear(style, i)
        self.demod, self.up, self.o, self.i, self.k = demod, up, o, i, k
        self.scale = 1 / math.sqrt(i * k * k)

    def forward(self, x, w):
        b, i, h, wd = x.shape
        s = self.mod(w).view(b, 1, i, 1, 1) + 1
        weight = self.scale * self.weight * s
        if self.demod:
            weight = weight * torch.rsqrt(weight.pow(2).sum([2, 3, 4]) + 1e-8).view(b, self.o, 1, 1, 1)
        weight = weight.view(b * self.o, i, self.k, self.k)
        if self.up:
            x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
            h, wd = h * 2, wd * 2
        x = x.reshape(1, b * i, h, wd)
        return F.conv2d(x, weight, padding=self.k // 2, groups=b).view(b, self.o, h, wd)


class Stylegan2Block(nn.Module):
    def __init__(self, style=512):
        super().__init__()
        self.mapping = nn.Sequential(*[m for _ in range(8) for m in (nn.Linear(style, style), nn.LeakyReLU(0.2))])
        self.c1, self.c2 = ModConv(512, 512, 3, style, up=True), ModConv(512, 512, 3, style)
        self.rgb = ModConv(512, 3, 1, style, demod=False)
        self.b1, self.b2 = nn.Parameter(torch.zeros(1, 512, 1, 1)), nn.Parameter(torch.zeros(1, 512, 1, 1))
        self.n1, self.n2 = nn.Parameter(torch.zeros(1)), nn.Parameter(torch.zeros(1))

    def forward(self, x, z, noise):
        w = self.mapping(z * torch.rsqrt(z.square().mean(1, keepdim=True) + 1e-8))
        x = F.leaky_relu(self.c1(x, w) + self.n1 * noise + self.b1, 0.2) * math.sqrt(2)
        x = F.leaky_relu(self.c2(x, w) + self.n2 * noise + self.b2, 0.2) * math.sqrt(2)
        return x, self.rgb(x, w)


def timestep(t, d):
    f = torch.exp(-math.log(10000) * torch.arange(d // 2, device=t.device).float() / (d // 2))
    a = t[:, None].float() * f[None]
    return torch.cat([a.cos(), a.sin()], -1)


class DdpmUnetSmallRes(nn.Module):
    def __init__(self, a, b, e):
        super().__init__()
        self.n1, self.c1 = nn.GroupNorm(32, a), nn.Conv2d(a, b, 3, padding=1)
        self.emb = nn.Linear(e, 2 * b)
        self.n2, self.c2 = nn.GroupNorm(32, b), nn.Conv2d(b, b, 3, padding=1)
        self.skip = nn.Conv2d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x, e):
        h = self.c1(F.silu(self.n1(x)))
        s, t = self.emb(F.silu(e))[:, :, None, None].chunk(2, 1)
        h = self.n2(h) * (1 + s) + t
        return self.skip(x) + self.c2(F.silu(h))


class Attn(nn.Module):
    def __init__(self, c, h=4):
        super().__init__()
        self.n, self.qkv, self.o, self.h = nn.GroupNorm(32, c), nn.Conv1d(c, 3 * c, 1), nn.Conv1d(c, c, 1), h

    def forward(self, x):
        b, c, hh, ww = x.shape
        y = x.reshape(b, c, -1)
        q, k, v = self.qkv(self.n(y)).reshape(b * self.h, -1, hh * ww).split(c // self.h, 1)
        s = 1 / math.sqrt(math.sqrt(c // self.h))
        w = torch.einsum("bct,bcs->bts", q * s, k * s).float().softmax(-1).type(x.dtype)
        a = torch.einsum("bts,bcs->bct", w, v).reshape(b, c, -1)
        return (y + self.o(a)).reshape(b, c, hh, ww)


class DdpmUnetSmall(nn.Module):
    def __init__(self, c=128):
        super().__init__()
        e = 4 * c
        self.time = nn.Sequential(nn.Linear(c, e), nn.SiLU(), nn.Linear(e, e))
        self.i = nn.Conv2d(3, c, 3, padding=1)
        self.r1, self.d1 = DdpmUnetSmallRes(c, c, e), nn.Conv2d(c, c, 3, 2, 1)
        self.r2, self.a2, self.d2 = DdpmUnetSmallRes(c, 2 * c, e), Attn(2 * c), nn.Conv2d(2 * c, 2 * c, 3, 2, 1)
        self.m1, self.ma, self.m2 = DdpmUnetSmallRes(2 * c, 2 * c, e), Attn(2 * c), DdpmUnetSmallRes(2 * c, 2 * c, e)
        self.u2, self.b2, self.c2 = nn.Conv2d(2 * c, 2 * c, 3, padding=1), DdpmUnetSmallRes(4 * c, 2 * c, e), Attn(2 * c)
        self.u1, self.b1 = nn.Conv2d(2 * c, 2 * c, 3, padding=1), DdpmUnetSmallRes(3 * c, c, e)
        self.on, self.o = nn.GroupNorm(32, c), nn.Conv2d(c, 3, 3, padding=1)
        self.c = c

    def forward(self, x, t):
        e = self.time(timestep(t, self.c))
        h1 = self.r1(self.i(x), e)
        h2 = self.a2(self.r2(self.d1(h1), e))
        m = self.m2(self.ma(self.m1(self.d2(h2), e)), e)
        y = self.u2(F.interpolate(m, scale_factor=2))
        y = self.c2(self.b2(torch.cat([y, h2], 1), e))
        y = self.u1(F.interpolate(y, scale_factor=2))
        y = self.b1(torch.cat([y, h1], 1), e)
        return self.o(F.silu(self.on(y)))


class Residual(nn.Module):
    def __init__(self, c, r):
        super().__init__()
        self.b = nn.Sequential(nn.ReLU(), nn.Conv2d(c, r, 3, 1, 1, bias=False), nn.ReLU(), nn.Conv2d(r, c, 1, bias=False))

    def forward(self, x):
        return x + self.b(x)


class VqVae(nn.Module):
    def __init__(self, h=128, d=64, k=512):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, h // 2, 4, 2, 1), nn.ReLU(), nn.Conv2d(h // 2, h, 4, 2, 1), nn.ReLU(), nn.Conv2d(h, h, 3, 1, 1),
                                 Residual(h, 32), Residual(h, 32), nn.ReLU(), nn.Conv2d(h, d, 1))
        self.codebook = nn.Embedding(k, d)
        self.dec = nn.Sequential(nn.Conv2d(d, h, 3, 1, 1), Residual(h, 32), Residual(h, 32), nn.ReLU(),
                                 nn.ConvTranspose2d(h, h // 2, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(h // 2, 3, 4, 2, 1))

    def forward(self, x):
        z = self.enc(x).permute(0, 2, 3, 1).contiguous()
        flat = z.view(-1, z.shape[-1])
        dist = flat.pow(2).sum(1, keepdim=True) + self.codebook.weight.pow(2).sum(1) - 2 * flat @ self.codebook.weight.t()
        idx = dist.argmin(1)
        onehot = F.one_hot(idx, self.codebook.num_embeddings).to(x.dtype)
        q = (onehot @ self.codebook.weight).view(z.shape)
        loss = F.mse_loss(q.detach(), z) + F.mse_loss(q, z.detach())
        q = z + (q - z).detach()
        p = onehot.mean(0)
        perplexity = torch.exp(-(p * torch.log(p + 1e-10)).sum())
        return self.dec(q.permute(0, 3, 1, 2)), loss, perplexity


class Coupling(nn.Module):
    def __init__(self, d, h, flip):
        super().__init__()
        self.s = nn.Sequential(nn.Linear(d // 2, h), nn.LeakyReLU(), nn.Linear(h, h), nn.LeakyReLU(), nn.Linear(h, d // 2), nn.Tanh())
        self.t = nn.Sequential(nn.Linear(d // 2, h), nn.LeakyReLU(), nn.Linear(h, h), nn.LeakyReLU(), nn.Linear(h, d // 2))
        self.flip = flip

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        s, t = self.s(a), self.t(a)
        b = b * torch.exp(s) + t
        return torch.cat([b, a] if self.flip else [a, b], 1), s.sum(1)


class RealNvp(nn.Module):
    def __init__(self, d=64, n=8):
        super().__init__()
        self.f = nn.ModuleList(Coupling(d, 256, k % 2 == 1) for k in range(n))
        self.register_buffer("perm", torch.randperm(d))

    def forward(self, x):
        logdet = torch.zeros(x.shape[0], device=x.device)
        for f in self.f:
            x, l = f(x)
            x = x[:, self.perm]
            logdet = logdet + l
        prior = -0.5 * (x ** 2 + math.log(2 * math.pi)).sum(1)
        return x, prior + logdet


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


class SplineFlow(nn.Module):
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


class ResBlock(nn.Module):
    def __init__(self, c, k, dil=(1, 3, 5)):
        super().__init__()
        self.c1 = nn.ModuleList(weight_norm(nn.Conv1d(c, c, k, 1, dilation=d, padding=(k - 1) * d // 2)) for d in dil)
        self.c2 = nn.ModuleList(weight_norm(nn.Conv1d(c, c, k, 1, padding=(k - 1) // 2)) for d in dil)

    def forward(self, x):
        for a, b in zip(self.c1, self.c2):
            x = x + b(F.leaky_relu(a(F.leaky_relu(x, 0.1)), 0.1))
        return x


class HifiganGenerator(nn.Module):
    def __init__(self, c=256):
        super().__init__()
        self.pre = weight_norm(nn.Conv1d(80, c, 7, padding=3))
        self.ups, self.res = nn.ModuleList(), nn.ModuleList()
        for i, (r, k) in enumerate(((8, 16), (8, 16), (2, 4), (2, 4))):
            self.ups.append(weight_norm(nn.ConvTranspose1d(c // 2 ** i, c // 2 ** (i + 1), k, r, padding=(k - r) // 2)))
            for kk in (3, 7, 11):
                self.res.append(ResBlock(c // 2 ** (i + 1), kk))
        self.post = weight_norm(nn.Conv1d(c // 16, 1, 7, padding=3))

    def forward(self, x):
        x = self.pre(x)
        for i, up in enumerate(self.ups):
            x = up(F.leaky_relu(x, 0.1))
            xs = None
            for j in range(3):
                y = self.res[i * 3 + j](x)
                xs = y if xs is None else xs + y
            x = xs / 3
        return torch.tanh(self.post(F.leaky_relu(x)))


class WavenetGated(nn.Module):
    def __init__(self, layers=10, stacks=2, r=64, s=256, classes=256):
        super().__init__()
        self.first = nn.Conv1d(classes, r, 1)
        self.dil = [2 ** (i % layers) for i in range(layers * stacks)]
        self.gates = nn.ModuleList(nn.Conv1d(r, 2 * r, 2, dilation=d) for d in self.dil)
        self.res = nn.ModuleList(nn.Conv1d(r, r, 1) for _ in self.dil)
        self.skip = nn.ModuleList(nn.Conv1d(r, s, 1) for _ in self.dil)
        self.e1, self.e2 = nn.Conv1d(s, s, 1), nn.Conv1d(s, classes, 1)

    def forward(self, x):
        h = self.first(F.one_hot(x, 256).transpose(1, 2).float())
        total = 0
        for d, gate, res, skip in zip(self.dil, self.gates, self.res, self.skip):
            z = gate(F.pad(h, (d, 0)))
            a, b = z.chunk(2, 1)
            z = torch.tanh(a) * torch.sigmoid(b)
            total = total + skip(z)
            h = (h + res(z)) * math.sqrt(0.5)
        return self.e2(F.relu(self.e1(F.relu(total))))


class NerfRender(nn.Module):
    def __init__(self, d=8, w=256):
        super().__init__()
        self.pts = nn.ModuleList([nn.Linear(63, w)] + [nn.Linear(w, w) if i != 4 else nn.Linear(w + 63, w) for i in range(d - 1)])
        self.views, self.feature = nn.Linear(27 + w, w // 2), nn.Linear(w, w)
        self.alpha, self.rgb = nn.Linear(w, 1), nn.Linear(w // 2, 3)

    def embed(self, x, n):
        out = [x]
        for k in range(n):
            out += [torch.sin(x * 2.0 ** k), torch.cos(x * 2.0 ** k)]
        return torch.cat(out, -1)

    def forward(self, o, d):
        t = torch.linspace(0.0, 1.0, 64, device=o.device)
        z = 2.0 * (1 - t) + 6.0 * t
        pts = o[:, None, :] + d[:, None, :] * z[None, :, None]
        dirs = (d / d.norm(dim=-1, keepdim=True))[:, None].expand(pts.shape)
        e = self.embed(pts.reshape(-1, 3), 10)
        h = e
        for i, l in enumerate(self.pts):
            h = F.relu(l(h))
            if i == 4:
                h = torch.cat([e, h], -1)
        sigma = self.alpha(h)
        h = torch.cat([self.feature(h), self.embed(dirs.reshape(-1, 3), 4)], -1)
        rgb = torch.sigmoid(self.rgb(F.relu(self.views(h)))).view(-1, 64, 3)
        sigma = sigma.view(-1, 64)
        dists = torch.cat([z[1:] - z[:-1], torch.full((1,), 1e10, device=o.device)]) * d.norm(dim=-1, keepdim=True)
        alpha = 1.0 - torch.exp(-F.relu(sigma) * dists)
        T = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1.0 - alpha + 1e-10], -1), -1)[:, :-1]
        w = alpha * T
        rgb_map = (w[..., None] * rgb).sum(-2)
        return rgb_map, (w * z).sum(-1)


class Sine(nn.Module):
    def __init__(self, i, o, w0=30.0, first=False):
        super().__init__()
        self.w0, self.l = w0, nn.Linear(i, o)
        with torch.no_grad():
            b = 1 / i if first else math.sqrt(6 / i) / w0
            self.l.weight.uniform_(-b, b)

    def forward(self, x):
        return torch.sin(self.w0 * self.l(x))


class Siren(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(Sine(2, 256, first=True), Sine(256, 256), Sine(256, 256), Sine(256, 256), nn.Linear(256, 3))

    def forward(self, x):
        return self.net(x)


# Name, what builds it, what it is called with, and in which half precision people run it, too.
MODELS = [
    ("cyclegan_generator", "CycleganGenerator()", ["torch.randn(1, 3, 256, 256)"]),
    ("pix2pix_unet", "Pix2pixUnet()", ["torch.randn(1, 3, 256, 256)"]),
    ("esrgan_rrdb", "EsrganRrdb()", ["torch.rand(4, 3, 64, 64)"]),
    ("edsr_pixelshuffle_fp16", "EdsrPixelshuffleFp16()", ["torch.rand(4, 3, 96, 96, dtype=torch.float16)"]),
    ("spectral_normed_gan_d", "SpectralNormedGanD()", ["torch.randn(16, 3, 64, 64)", "torch.randint(0, 1000, (16,))"]),
    ("stylegan2_block", "Stylegan2Block()", ["torch.randn(4, 512, 16, 16)", "torch.randn(4, 512)", "torch.randn(4, 1, 32, 32)"]),
    ("ddpm_unet_small", "DdpmUnetSmall()", ["torch.randn(8, 3, 32, 32)", "torch.randint(0, 1000, (8,))"]),
    ("vqvae", "VqVae()", ["torch.randn(32, 3, 64, 64)"]),
    ("realnvp", "RealNvp()", ["torch.randn(4096, 64)"]),
    ("spline_flow", "SplineFlow()", ["torch.randn(4096, 32) * 2"]),
    ("hifigan_generator", "HifiganGenerator()", ["torch.randn(4, 80, 64)"]),
    ("wavenet_gated", "WavenetGated()", ["torch.randint(0, 256, (2, 8000))"]),
    ("nerf_render", "NerfRender()", ["torch.randn(1024, 3)", "torch.randn(1024, 3)"]),
    ("siren", "Siren()", ["torch.rand(65536, 2) * 2 - 1"]),
]
