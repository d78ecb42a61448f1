from __future__ import annotations

import collections
import dataclasses
from typing import Optional

import torch

Extremes = collections.namedtuple("Extremes", "low high")


@dataclasses.dataclass
class Features:
    hidden: torch.Tensor
    extremes: Extremes
    attention: Optional[torch.Tensor] = None


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)
        self.dropout = torch.nn.Dropout(0.5)

    def forward(self, batch, scale=1.0, *, bias=None):
        x = self.dropout(self.linear(batch["left"] - batch["parts"][1])) * scale + bias
        return {"features": Features(x, Extremes(x.amin(-1), x.amax(-1))), "logits": [x.sum(-1), batch["parts"][0] * 2]}


def get_init_inputs():
    return [8]


def get_inputs():
    parts = (torch.rand(4, 8), torch.rand(4, 8))
    return {"bias": torch.rand(8), "batch": {"parts": parts, "left": torch.rand(4, 8)}, "scale": 0.5}
