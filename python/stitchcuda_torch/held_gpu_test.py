"""Held trials where the truth is on a GPU."""

import os
import unittest

import torch

from . import held_test


@unittest.skipUnless(torch.cuda.is_available(), "needs a GPU")
class HeldOnGpuTest(held_test.HeldTest):
    device = "cuda"

    def test_memory_of_the_device_comes_back(self):
        def free():
            return torch.cuda.mem_get_info()[0]

        before, large, little = free(), 4 << 30, 1 << 30
        descriptor, size = self.share_device(large - 5)
        self.assertGreaterEqual(size, large - 5)
        self.assertLess(free(), before - large + little)
        self.hold(1, patient=True)  # not another process's memory
        self.ask("unshare_device")
        self.assertLess(free(), before - large + little, "whoever holds the descriptor keeps it")
        os.close(descriptor)
        self.assertGreater(free(), before - little)
        self.error("share_device", bytes=1 << 40, socket=self.server.path("socket"))
        self.hold(2)


del held_test  # or its own tests would run here again

if __name__ == "__main__":
    unittest.main()
