import math
import unittest

import torch
from torch import nn

from . import numerics
from .numerics import LARGE, are_tf32, round_to_tf32

CPU = torch.device("cpu")


def by_definition(value):
    """Eleven significant bits, to nearest, ties to even, in exact arithmetic."""
    if value == 0 or not math.isfinite(value):
        return value
    _, exponent = math.frexp(value)
    step = 2.0 ** (max(exponent, -125) - 11)
    return round(value / step) * step


class RoundingTest(unittest.TestCase):
    def test_against_the_definition(self):
        torch.manual_seed(0)
        halfway = 1 + torch.arange(0, 64) * 2.0**-12
        x = torch.cat(
            [
                torch.randn(500) * 2.0 ** torch.randint(-100, 100, (500,)),
                halfway,
                -halfway,
                torch.tensor([0.0, -0.0, math.inf, -math.inf, 1e-41, 3e38]),
            ]
        )
        self.assertEqual(round_to_tf32(x).tolist(), [by_definition(value) for value in x.tolist()])
        self.assertTrue(round_to_tf32(torch.tensor([math.nan])).isnan().item())
        self.assertTrue(torch.equal(round_to_tf32(x.reshape(2, -1).T), round_to_tf32(x).reshape(2, -1).T))

    def error(self, module, x, mode):
        """Relative error against float64, so 0 where only float32 rounds."""
        with torch.no_grad():
            exact = module.double()(x.double())
            exact = exact[0] if isinstance(exact, tuple) else exact
            with numerics.pinned(mode, CPU):
                got = module.float()(x)
            got = got[0] if isinstance(got, tuple) else got
            return ((got.double() - exact).norm() / exact.norm()).item()

    def test_who_rounds(self):
        torch.manual_seed(1)
        image, sequence = torch.randn(2, 8, 9, 9), torch.randn(2, 6, 32)
        rounds, exact = (5e-5, 2e-3), (0, 2e-6)
        encoder = nn.TransformerEncoderLayer(32, 2, 64, dropout=0.0, batch_first=True)
        for module, x, default in [
            (nn.Conv2d(8, 8, 3), image, rounds),
            (nn.ConvTranspose2d(8, 8, 3), image, rounds),
            (nn.Linear(32, 32), sequence, exact),
            (encoder, sequence, exact),
            (encoder.eval(), sequence, exact),
            (nn.LSTM(32, 16, 2), sequence, rounds),
            (nn.GRU(32, 16, bidirectional=True), sequence, rounds),
            (nn.RNN(32, 16), sequence, rounds),
        ]:
            for mode, (low, high) in {"strict": exact, "default": default, "tf32": rounds, "half": (5e-5, 2e-2)}.items():
                with self.subTest(type(module).__name__, mode=mode):
                    error = self.error(module, x, mode)
                    self.assertTrue(low <= error <= high, error)

    def test_nothing_stays_switched(self):
        before = torch.backends.mha.get_fastpath_enabled(), torch._C._get_mkldnn_enabled()
        with numerics.pinned("tf32", CPU):
            nn.LSTM(4, 4)(torch.randn(2, 1, 4))
        with self.assertRaises(ZeroDivisionError), numerics.pinned("half", CPU):
            raise ZeroDivisionError
        self.assertEqual((torch.backends.mha.get_fastpath_enabled(), torch._C._get_mkldnn_enabled()), before)
        self.assertFalse(torch.is_autocast_enabled("cpu"))
        self.assertEqual(torch.get_float32_matmul_precision(), "highest")
        self.assertTrue(torch.backends.cudnn.allow_tf32)


def convolution(x, weight, **more):
    rank = len(x) - 2
    return {"x": x, "weight": weight, "stride": [1] * rank, "padding": [0] * rank, "dilation": [1] * rank, "groups": 1, "transposed": False, **more}


class ArithmeticTest(unittest.TestCase):
    flat = convolution([2, 16, 8, 8], [8, 16, 3, 3], padding=[1, 1])

    def test_tells_tf32_from_fp32(self):
        # On a CPU, class default rounds what convolutions read to TF32.
        self.assertEqual(are_tf32([self.flat], CPU), [True])
        self.assertEqual(are_tf32([self.flat], CPU, "strict"), [False])

    def test_takes_every_form(self):
        forms = [
            convolution([2, 4, 9], [4, 2, 3], groups=2, stride=[2]),
            convolution([2, 4, 5, 5], [4, 3, 3, 3], transposed=True, stride=[2, 2], output_padding=[1, 1]),
            convolution([1, 2, 4, 4, 4], [3, 2, 2, 2, 2], dilation=[2, 1, 1]),
        ]
        self.assertEqual(are_tf32(forms, CPU, "strict"), [False] * 3)

    def test_what_cannot_be_seen_is_not_guessed(self):
        self.assertEqual(are_tf32([convolution([2, 16, 8, 8], [8, 15, 3, 3])], CPU), [None])
        self.assertEqual(are_tf32([convolution([LARGE // 4 + 1, 1, 1, 1], [1, 1, 1, 1])], CPU), [None])
