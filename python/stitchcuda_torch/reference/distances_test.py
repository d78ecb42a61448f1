"""Distances piece by piece are those of the whole; that they are C++'s too is src/reference/torch_test.cpp's to say."""

import math
import unittest
from unittest import mock

import torch

from . import distances
from .distances import Distance, distance, of_number, of_tensor


class DistancesTest(unittest.TestCase):
    def measure(self, values, truth, pytorch=None):
        whole = distance(of_tensor(values), truth, pytorch)
        with mock.patch.object(distances, "PIECE", 7):
            parts = distance(of_tensor(values), truth, pytorch)
        for name in ("error", "truth"):
            a, b = getattr(whole, name), getattr(parts, name)
            self.assertTrue(a == b or math.isclose(a, b, rel_tol=1e-12), (name, a, b))
            setattr(parts, name, a)
        self.assertEqual(whole, parts)
        return whole

    def test_floats(self):
        truth = torch.tensor([3.0, -4.0, 0.0] * 9, dtype=torch.float64).reshape(3, 9)
        self.assertEqual(self.measure(truth.float(), truth), Distance(0, 15, 0, 0, 27))
        values = truth.half()
        values[1, 2] += 2
        values[2, 2] -= 2
        self.assertEqual(self.measure(values, truth), Distance(math.sqrt(8), 15, 2, 11, 27))

    def test_what_is_not_finite(self):
        nan, inf = float("nan"), float("inf")
        truth = torch.tensor([1, nan, inf, -inf, 2, 3, 4, inf], dtype=torch.float64)
        self.assertEqual(self.measure(truth, truth), Distance(0, math.sqrt(30), 0, 0, 8, scattered=True))
        values = torch.tensor([1, nan, -inf, -inf, nan, inf, 5, 1])
        self.assertEqual(self.measure(values, truth), Distance(1, math.sqrt(17), 1, 6, 8, not_finite=4, first_bad=2, scattered=True))
        self.assertEqual(self.measure(torch.full((3,), nan), torch.full((3,), nan, dtype=torch.float64)), Distance(elements=3, scattered=True))
        self.assertEqual(self.measure(torch.full((9,), nan), torch.ones(9, dtype=torch.float64)), Distance(elements=9, not_finite=9, first_bad=0))

    def test_what_overflows_in_pytorch_too(self):
        nan, inf = float("nan"), float("inf")
        truth, pytorch = torch.arange(1, 9, dtype=torch.float64), torch.tensor([1, 2, nan, 4, 5, inf, 7, 8])
        values = torch.tensor([1, 2, inf, 4, 5, 6, 7, 8])
        self.assertEqual(self.measure(values, truth, pytorch).not_finite, 0)
        values[7] = nan
        found = self.measure(values, truth, pytorch)
        self.assertEqual((found.not_finite, found.first_bad, found.error), (1, 7, 0))

    def test_too_large_to_square(self):
        truth = torch.tensor([1e200, 1.0], dtype=torch.float64)
        found = self.measure(-truth, truth)
        self.assertEqual((found.error, found.truth, found.largest, found.worst, found.not_finite), (math.inf, math.inf, 2e200, 0, 0))
        self.assertEqual(found.as_json()["error"], "inf")

    def test_integers_and_ties(self):
        truth, pytorch = torch.arange(20), torch.arange(20)
        pytorch[9] = 0
        values = torch.arange(20, dtype=torch.int32)
        self.assertEqual(self.measure(values, truth, pytorch), Distance(elements=20))
        values[9] = 0
        self.assertEqual(self.measure(values, truth), Distance(elements=20, unequal=1, first_bad=9))
        self.assertEqual(self.measure(values, truth, pytorch), Distance(elements=20))
        values[8] = 0
        self.assertEqual(self.measure(values, truth, pytorch), Distance(elements=20, unequal=1, first_bad=8))
        self.assertEqual(self.measure(truth > 0, truth > 3).unequal, 3)

    def test_empty_and_single(self):
        self.assertEqual(self.measure(torch.empty(0, 3), torch.empty(0, 3, dtype=torch.float64)), Distance())
        self.assertEqual(self.measure(torch.tensor(1.0), torch.tensor(2.0, dtype=torch.float64)), Distance(1, 2, 1, 0, 1))

    def test_numbers_and_means(self):
        truth = torch.tensor([[1.0, 5.0], [float("nan"), 6.0]], dtype=torch.float64)
        self.assertEqual(distances.mean(truth), 3)
        self.assertEqual(distance(of_number(1.0), truth[0]), Distance(4, math.sqrt(26), 4, 1, 2))

    def test_sameness_of_strided_tensors(self):
        x = torch.rand(5, 7, 3)
        with mock.patch.object(distances, "PIECE", 8):
            self.assertTrue(distances.same(x, x.double()))
            self.assertTrue(distances.same(x.mT, x.mT.double().contiguous()))
            y = x.clone()
            y[4, 6, 2] = float("nan")
            self.assertFalse(distances.same(x, y))
            self.assertTrue(distances.same(y.mT, y.mT.clone()))
            self.assertFalse(distances.all_finite(y.mT))
            self.assertTrue(distances.all_finite(x))
            self.assertTrue(distances.all_finite(torch.tensor(1)))
            self.assertAlmostEqual(distances.relative_l2([x, 2 * x], [x, x]), math.sqrt(0.5), places=6)
        self.assertFalse(distances.same(x, x[0]))
