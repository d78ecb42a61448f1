"""Mamba-2's state-space duality: exact inside chunks of time by matrix products, and carried between chunks by their states."""
import torch
from einops import rearrange
from torch import nn
from torch.nn import functional as F


def segment_sums(x):
    """(..., length) -> (..., length, length): the sum over (j, i], and -inf where j > i."""
    length = x.size(-1)
    total = torch.cumsum(x, dim=-1)
    sums = total[..., :, None] - total[..., None, :]
    mask = torch.tril(torch.ones(length, length, device=x.device, dtype=torch.bool), diagonal=0)
    return sums.masked_fill(~mask, -torch.inf)


class Model(nn.Module):
    def __init__(self, batch, time, heads, state, chunk):
        super().__init__()
        self.chunk = chunk
        # Decays below zero, so that exp() of their sums stays in range.
        self.decay = nn.Parameter(-torch.rand(batch, time, heads))
        self.B = nn.Parameter(torch.randn(batch, time, heads, state))
        self.C = nn.Parameter(torch.randn(batch, time, heads, state))

    def forward(self, x, initial=None):  # (batch, time, heads, size)
        x, decay, B, C = (rearrange(t, "b (c l) ... -> b c l ...", l=self.chunk) for t in (x, self.decay, self.B, self.C))
        decay = rearrange(decay, "b c l h -> b h c l")
        total = torch.cumsum(decay, dim=-1)

        # Inside each chunk.
        L = torch.exp(segment_sums(decay))
        diagonal = torch.einsum("bclhn,bcshn,bhcls,bcshp->bclhp", C, B, L, x)

        # What each chunk hands on, and what reaches it from those before.
        to_end = torch.exp(total[:, :, :, -1:] - total)
        states = torch.einsum("bclhn,bhcl,bclhp->bchpn", B, to_end, x)
        if initial is None:
            initial = torch.zeros_like(states[:, :1])
        states = torch.cat([initial, states], dim=1)
        between = torch.exp(segment_sums(F.pad(total[:, :, :, -1], (1, 0))))
        states = torch.einsum("bhzc,bchpn->bzhpn", between, states)[:, :-1]

        off_diagonal = torch.einsum("bclhn,bchpn,bhcl->bclhp", C, states, torch.exp(total))
        return rearrange(diagonal + off_diagonal, "b c l h p -> b (c l) h p")


batch = 2
time = 24
heads = 3
size = 5
state = 4
chunk = 6


def get_init_inputs():
    return [batch, time, heads, state, chunk]


def get_inputs():
    return [torch.rand(batch, time, heads, size)]
