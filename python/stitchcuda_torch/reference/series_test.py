"""Inputs stay hidden until they are revealed, and outputs that were read stay unchanged."""

import unittest

import torch

from ..device.arena import DeviceArena
from .distributions import study
from .inputs import SHARED_BITS, Varied
from .series import Series, deviation, sampled


class SeriesTest(unittest.TestCase):
    def setUp(self):
        arena = DeviceArena(4096, torch.device("cpu"))
        self.series = Series(arena, torch.device("cpu"), 2, inputs_at=0, inputs_step=512, outputs_at=1024, outputs_step=512)

    def test_shows_and_reads(self):
        series, x = self.series, torch.rand(2, 16)
        for slot in range(2):
            series.stage(slot, [x[slot]], [256])
        self.assertFalse(series.shown(2).any(), "staged is not shown")
        series.reveal(2)
        self.assertTrue(torch.equal(series.shown(2).view(torch.float32).reshape(2, 128)[:, 64:80], x))
        outputs = series.arena.span(1024, 1024)
        self.assertTrue((outputs == 255).all())
        outputs.view(torch.float32)[:] = 3
        series.take(2)
        series.keep(1, 7)
        outputs.zero_()  # later than the watch
        self.assertTrue((series.kept[7].span(0, 512).view(torch.float32) == 3).all())
        self.assertTrue(series.intact(2))
        series.shown(2)[300] += 1
        self.assertFalse(series.intact(2))
        with self.assertRaises(ValueError):
            series.kept[7].span(256, 512)

    def test_reads_back_what_a_call_was_about(self):
        x = torch.rand(3, 16)
        self.series.stage(1, [x[0], x[1]], [0, 256])
        self.assertTrue(torch.equal(self.series.inputs(1)[1], x[1]))
        self.series.arena.span(1024, 1024).view(torch.float32)[128 + 64 : 128 + 80] = x[2]
        self.series.take(2)
        self.assertTrue(torch.equal(self.series.output(1, torch.float32, (16,), 256), x[2]))

    def test_strange_is_far_from_rounding(self):
        x = torch.randn(50, 40)
        self.assertEqual(deviation(x, x), 0)
        self.assertTrue(0 < deviation(x.half().float(), x) < deviation(x * 1.002, x) < 0.01)
        for far in (torch.zeros_like(x), x.roll(1), x.where(x < 2, float("nan"))):
            self.assertGreater(deviation(far, x), 0.9)
        self.assertEqual(deviation(torch.tensor([1, 2]), torch.tensor([1, 2])), 0)
        many = torch.zeros(3 << 20)
        self.assertEqual([sampled(many, 7).shape, sampled(x, 7).numel()], [(1 << 20,), x.numel()])
        self.assertGreater(deviation(torch.tensor([1, 3]), torch.tensor([1, 2])), 0.02)


class VariedTest(unittest.TestCase):
    def test_differ_by_seed_and_stay_legal(self):
        drawn = []

        def draw(seed):
            drawn.append(seed)
            generator = torch.Generator().manual_seed(seed)
            return [
                torch.rand(8, 8, generator=generator),
                torch.randint(0, 5, (8,), generator=generator),
                torch.rand(4, 4, generator=generator).tril(),
            ]

        varied, base = Varied(), 77 << SHARED_BITS
        first, second, again = (varied.draw(draw, lambda tensors: [study(tensor) for tensor in tensors], base + i) for i in (1, 2, 1))
        self.assertEqual(drawn, [77])
        self.assertFalse(torch.equal(first[0], second[0]))
        self.assertTrue(torch.equal(first[0], again[0]))
        self.assertTrue(torch.equal(first[0].reshape(-1).sort().values, second[0].reshape(-1).sort().values))
        self.assertTrue(torch.equal(first[1], second[1]) and torch.equal(first[2], first[2].tril()))
