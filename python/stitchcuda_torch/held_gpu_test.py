"""Held trials where the truth is on a GPU."""

import unittest

import torch

from . import held_test


@unittest.skipUnless(torch.cuda.is_available(), "needs a GPU")
class HeldOnGpuTest(held_test.HeldTest):
    device = "cuda"


del held_test  # or its own tests would run here again

if __name__ == "__main__":
    unittest.main()
