import unittest

import torch

from .arithmetic import LARGE, are_tf32

CPU = torch.device("cpu")


def convolution(x, weight, **more):
    rank = len(x) - 2
    return {"x": x, "weight": weight, "stride": [1] * rank, "padding": [0] * rank, "dilation": [1] * rank, "groups": 1,
            "transposed": False, **more}


class ArithmeticTest(unittest.TestCase):
    flat = convolution([2, 16, 8, 8], [8, 16, 3, 3], padding=[1, 1])

    def test_tells_tf32_from_fp32(self):
        # On a CPU, class default rounds what convolutions read to TF32.
        self.assertEqual(are_tf32([self.flat], CPU), [True])
        self.assertEqual(are_tf32([self.flat], CPU, "strict"), [False])

    def test_takes_every_form(self):
        forms = [convolution([2, 4, 9], [4, 2, 3], groups=2, stride=[2]),
                 convolution([2, 4, 5, 5], [4, 3, 3, 3], transposed=True, stride=[2, 2], output_padding=[1, 1]),
                 convolution([1, 2, 4, 4, 4], [3, 2, 2, 2, 2], dilation=[2, 1, 1])]
        self.assertEqual(are_tf32(forms, CPU, "strict"), [False] * 3)

    def test_what_cannot_be_seen_is_not_guessed(self):
        self.assertEqual(are_tf32([convolution([2, 16, 8, 8], [8, 15, 3, 3])], CPU), [None])
        self.assertEqual(are_tf32([convolution([LARGE // 4 + 1, 1, 1, 1], [1, 1, 1, 1])], CPU), [None])


if __name__ == "__main__":
    unittest.main()
