import contextlib
import math
import unittest

import torch
from torch import nn

from . import weights


class Loaded:
    """As much of a loaded task as is needed."""

    device, task = torch.device("cpu"), None

    def __init__(self, model):
        self.model, self.task = model, self
        self.original = {name: tensor.detach().clone() for name, tensor in self.state().items()}

    def state(self):
        return self.model.state_dict(keep_vars=True)

    def arguments(self, inputs):
        return [tensor.clone() for tensor in inputs], {}

    def stage(self, *_):
        return contextlib.nullcontext()

    def find_room(self, x, faint=False):
        return weights.find_room(self, self.original, [x], "default", 3, faint)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        nn.init.kaiming_normal_(self.conv.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        return torch.relu(x + self.norm(self.conv(x)))


class Own(nn.Module):
    """Products that are no modules."""

    def __init__(self, width, layers):
        super().__init__()
        self.weights = nn.ParameterList(torch.randn(width, width) * 2 / math.sqrt(width) for _ in range(layers))

    def forward(self, x):
        for weight in self.weights:
            x = x @ weight
        return x


def network(blocks=24, dtype=torch.float16):
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 8, 3), *(Block(8) for _ in range(blocks))).to(dtype).eval()


class RoomTest(unittest.TestCase):
    def test_half_networks_that_would_overflow(self):
        for faint in (False, True):
            torch.manual_seed(1)
            loaded, x = Loaded(network()), torch.randn(2, 3, 8, 8, dtype=torch.float16)
            weights.draw_scaled(loaded, loaded.original, weights.Scaling(1.0, {}), 3, faint)
            if not faint:
                self.assertFalse(bool(loaded.model(x).isfinite().all()))
            held = loaded.find_room(x, faint)
            self.assertEqual((held.room, held.shrink), (True, 1.0))
            self.assertLess(loaded.model(x).abs().max().item(), 65504 / weights.ROOM)
            before = {name: tensor.clone() for name, tensor in loaded.state().items()}
            weights.draw_scaled(loaded, loaded.original, held, 3, faint)
            self.assertTrue(all(torch.equal(before[name], tensor) for name, tensor in loaded.state().items()), "the same again")

    def test_shifts_count_however_deep(self):
        loaded, x = Loaded(network(48, torch.float32)), torch.randn(2, 3, 8, 8)
        loaded.find_room(x)
        with torch.no_grad():
            before = loaded.model(x)
            loaded.model[-1].norm.bias.zero_()
            self.assertGreater((loaded.model(x) - before).norm() / before.norm(), 1e-3)

    def test_what_keeps_its_size_is_not_held_back(self):
        torch.manual_seed(0)
        loaded = Loaded(nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32)))
        self.assertEqual(loaded.find_room(torch.randn(4, 32)), weights.Scaling(1.0, {}, True))

    def test_products_that_are_no_modules(self):
        torch.manual_seed(0)
        loaded = Loaded(Own(16, 20).half())
        held = loaded.find_room(torch.randn(4, 16, dtype=torch.float16))
        self.assertTrue(held.room)
        self.assertLess(held.shrink, 1)

    def test_none_is_found(self):
        class Huge(nn.Linear):
            def forward(self, x):
                return super().forward(x) + 1e30

        self.assertFalse(Loaded(Huge(4, 4).half()).find_room(torch.randn(2, 4, dtype=torch.float16)).room)
