import unittest

import torch
import torch.nn.functional as F
from torch import nn

from .float64 import run_float64


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


if __name__ == "__main__":
    unittest.main()
