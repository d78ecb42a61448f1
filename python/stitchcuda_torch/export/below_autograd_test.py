"""Models that differentiate or vmap inside forward: exported as what that comes down to."""

import unittest

import torch
from torch.nn.attention.flex_attention import flex_attention

from . import below_autograd, record, trace


class Residual(torch.nn.Module):
    """A physics-informed network: derivatives of its result are part of it."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(2, 6), torch.nn.Linear(6, 1)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x, *, scale=1.0):
        self.calls += 1
        x = x.detach().clone().requires_grad_(True)
        with torch.enable_grad():
            u = self.second(torch.tanh(self.first(x)))
            (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)
            (bend,) = torch.autograd.grad(slope[:, 0].sum(), x)
        return {"u": u.detach() * scale, "residual": (slope + bend).detach()}


class Mapped(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3, 4, 2))

    def forward(self, x):
        each = torch.vmap(lambda weight, x: torch.tanh(x @ weight), (0, None))(self.weight, x)
        return each, torch.vmap(torch.func.jacrev(lambda row: (row * row).sum()))(x)


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.slopes = torch.nn.Parameter(torch.tensor([0.5, 0.25]))

    def forward(self, q):
        return flex_attention(q, q, q, score_mod=lambda score, b, h, i, j: torch.where(i >= j, score - self.slopes[h] * (i - j), -torch.inf))


class BelowAutogradTest(unittest.TestCase):
    def check(self, model, *inputs, **keywords):
        program = trace.export(model, trace.as_fake((inputs, keywords)), __file__)
        document, weights = record.record(program, __file__)
        self.assertFalse(below_autograd.is_needed(program))
        self.assertLessEqual(set(model.state_dict()), set(weights))
        with torch.no_grad():
            torch.testing.assert_close(program.module()(*inputs, **keywords), model(*inputs, **keywords))
        self.assertNotIn("forward", vars(model))
        return document

    def test_derivatives(self):
        document = self.check(Residual(), torch.randn(5, 2), scale=0.5)
        self.assertIn("aten.add_.Tensor", {node["op"] for node in document["nodes"]})

    def test_vmap(self):
        self.check(Mapped(), torch.randn(5, 4))

    def test_flex_attention(self):
        self.check(Attention(), torch.randn(1, 2, 16, 8))
