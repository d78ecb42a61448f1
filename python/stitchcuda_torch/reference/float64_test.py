import unittest

import torch
import torch.nn.functional as F
from torch import nn

from .float64 import float64_only, native_dtype, run_float64


class Casts(nn.Module):
    """Every way to ask for float32 that models are known to use."""

    def __init__(self):
        super().__init__()
        self.scale = torch.full((4,), 0.1)  # a plain attribute, rounded to float32 before we see it

    def forward(self, x):
        y = x.float() * torch.tensor(0.1, dtype=torch.float32) + x.to(torch.float32) * torch.tensor(0.1)
        y = y + torch.ones(4, dtype=torch.float32) / 3 + torch.arange(4, dtype=torch.float32).sqrt()
        y = y + torch.softmax(x, -1, dtype=torch.float32).type(torch.float32).half().type_as(x)
        return y + x.new_full((4,), 0.1, dtype=torch.bfloat16) + torch.FloatTensor([1, 2, 3, 4]) + self.scale


def exact(function, x):
    gate = (x + 3).clamp(0, 6) / 6
    return gate * x if function is nn.functional.hardswish else gate


class ReferenceTest(unittest.TestCase):
    def test_casts_leave_no_rounding(self):
        x = torch.rand(2, 4)
        (y,), _ = run_float64(Casts(), (x,))
        d = x.double()
        steps = torch.arange(4, dtype=torch.float64)
        want = d * 0.1 + d * 0.1 + 1 / 3 + steps.sqrt() + torch.softmax(d, -1) + 0.1 + steps + 1 + torch.full((4,), 0.1).double()
        self.assertEqual(y.dtype, torch.float64)
        self.assertLess((y - want).abs().max().item(), 1e-14)

    def test_no_operator_gives_a_narrow_result(self):
        modules = [nn.LayerNorm(8), nn.RMSNorm(8), nn.LSTM(8, 8), nn.TransformerEncoderLayer(8, 2, dropout=0.0), nn.GRU(8, 8)]
        for module in modules:
            with self.subTest(type(module).__name__), torch.no_grad(), float64_only(torch.float32) as operators:
                module.double()(torch.rand(2, 3, 8).float())
                self.assertEqual(operators.leftovers, [])

    def test_a_sixth_is_a_sixth(self):
        x = torch.randn(64) * 4
        for function in (nn.functional.hardswish, nn.functional.hardsigmoid):
            for inplace in (False, True):
                with torch.no_grad(), float64_only(torch.float32):
                    y = x.double()
                    self.assertLess((function(y.clone(), inplace=inplace) - exact(function, y)).abs().max().item(), 1e-15)

    def test_eps_of_the_models_own_dtype(self):
        x = torch.full((1, 4), 1e-4)
        (y,), _ = run_float64(nn.RMSNorm(4), (x,))
        d = x.double()
        want = d / (d.square().mean() + torch.finfo(torch.float32).eps).sqrt()
        self.assertLess((y - want).abs().max().item(), 1e-14)
        self.assertEqual(native_dtype(nn.Linear(2, 2).half(), ()), torch.float16)

    def test_eps_of_half_precision_is_that_of_float32(self):
        x = (torch.randn(4, 8) * 0.01).half()  # their squares are far below half's own eps
        norm = nn.RMSNorm(8).half()
        exported = torch.export.export(norm, (x,)).module()
        want = norm(x).double()
        for module in (norm, exported):
            (y,), _ = run_float64(module, (x,))
            self.assertLess(((y - want).norm() / want.norm()).item(), 1e-3)

    def test_updates_by_name_and_nothing_else_changes(self):
        module, x = nn.Sequential(nn.BatchNorm1d(4), nn.ReLU(inplace=True)), torch.rand(8, 4)
        kept = x.clone()
        _, updates = run_float64(module, (x,))
        self.assertEqual(set(updates), {"0.running_mean", "0.running_var", "0.num_batches_tracked"})
        self.assertLess((updates["0.running_mean"] - 0.1 * x.double().mean(0)).abs().max().item(), 1e-15)
        self.assertTrue(torch.equal(module[0].running_mean, torch.zeros(4)) and torch.equal(x, kept))
        self.assertEqual(torch.get_default_dtype(), torch.float32)

    def test_plain_attributes(self):
        class Counter(nn.Module):
            def __init__(self):
                super().__init__()
                self.written, self.assigned = torch.zeros(2), torch.zeros(2)

            def forward(self, x):
                self.written.copy_(x)
                self.assigned = self.assigned + x
                return x

        _, updates = run_float64(Counter(), (torch.ones(2),))
        self.assertEqual({name: tensor.tolist() for name, tensor in updates.items()}, {"written": [1, 1], "assigned": [1, 1]})


class Noisy(nn.Module):
    def __init__(self, draw):
        super().__init__()
        self.layer, self.draw = nn.Linear(40, 40), draw

    def forward(self, x):
        return self.draw(self.layer(x))


DRAWS = {
    "dropout": lambda x: F.dropout(x, 0.3),
    "dropout of everything": lambda x: F.dropout(x, 1.0),
    "feature dropout": lambda x: F.dropout2d(x.view(2, 6, 10, 10), 0.5),
    "alpha dropout": lambda x: F.alpha_dropout(x, 0.2, training=True),
    "uniform": lambda x: x + torch.rand_like(x),
    "uniform by size": lambda x: x + torch.rand(x.shape),
    "normal": lambda x: x * torch.randn(x.shape, dtype=torch.float32),
    "normal around": lambda x: torch.normal(x, 0.5),
    "in place": lambda x: x + torch.empty_like(x).uniform_(-1, 1),
    "exponential": lambda x: x + torch.empty_like(x).exponential_(),
    "bernoulli": lambda x: x * torch.bernoulli(torch.full_like(x, 0.25)),
    "multinomial": lambda x: torch.multinomial(torch.ones(30, 40), 3).to(x.dtype),
    "integers": lambda x: x + torch.randint(0, 9, x.shape),
    "permutation": lambda x: x[torch.randperm(30)],
    "gumbel": lambda x: F.gumbel_softmax(x),
}


class DrawsTest(unittest.TestCase):
    def test_float64_draws_what_the_model_draws(self):
        x = torch.randn(30, 40)
        for name, draw in DRAWS.items():
            for dtype, far in ((torch.float32, 1e-5), (torch.bfloat16, 0.05)):
                if dtype != torch.float32 and name in ("normal around", "gumbel", "exponential"):
                    continue  # few bits of what was drawn
                with self.subTest(name, dtype=dtype):
                    model, at = Noisy(draw).to(dtype), x.to(dtype)
                    torch.manual_seed(7)
                    with torch.no_grad():
                        near = model(at)
                    torch.manual_seed(7)
                    (exact,), _ = run_float64(model, [at])
                    self.assertEqual(exact.dtype, torch.float64)
                    torch.testing.assert_close(near.double(), exact, rtol=far, atol=far)

    def test_the_next_call_goes_on_in_the_same_place(self):
        model, x = Noisy(DRAWS["uniform"]), torch.randn(30, 40)
        torch.manual_seed(7)
        with torch.no_grad():
            model(x)
        after = torch.get_rng_state()
        torch.manual_seed(7)
        run_float64(model, [x])
        self.assertTrue(torch.equal(after, torch.get_rng_state()))
