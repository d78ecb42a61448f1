"""Never slower: where PyTorch was measured to be faster, the module runs PyTorch."""

import unittest

import torch

from stitchcuda import pytorch_best
from stitchcuda.module import Fast


def record(speedup):
    return {"verdict": {"timing": {"speedup": speedup, "best_baseline": "eager-graph"}}}


class PytorchBestTest(unittest.TestCase):
    def test_only_what_was_measured_to_be_faster(self):
        self.assertEqual(pytorch_best.faster(record(0.5)), ("eager-graph", 2.0))
        self.assertIsNone(pytorch_best.faster(record(1.2)))
        self.assertIsNone(pytorch_best.faster({"verdict": {"timing": None}}))
        self.assertIsNone(pytorch_best.faster({}))

    def test_a_module_without_a_program_calls_pytorchs_best(self):
        model = torch.nn.Linear(4, 2).eval()
        calls = []

        def best(x):
            calls.append(x)
            return model(x)

        fast = Fast(None, None, model, pytorch=best)
        x = torch.rand(3, 4)
        torch.testing.assert_close(fast(x), model(x))
        self.assertEqual(len(calls), 1)

    def test_what_no_graph_can_hold_runs_in_the_model(self):
        model = torch.nn.Linear(4, 2).eval()
        graphed = pytorch_best.Graphed(model)
        x = torch.rand(3, 4)  # on the CPU
        torch.testing.assert_close(graphed(x), model(x))
        self.assertIsNone(graphed.graph)


@unittest.skipUnless(torch.cuda.is_available(), "needs a GPU")
class GraphedTest(unittest.TestCase):
    def test_replays_and_follows_weights(self):
        model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()).eval().cuda()
        graphed = pytorch_best.Graphed(model)
        with torch.no_grad():
            for _ in range(3):
                x = torch.randn(5, 8, device="cuda")
                torch.testing.assert_close(graphed(x), model(x))
            model[0].weight.mul_(2)
            torch.testing.assert_close(graphed(x), model(x))
            model[0].weight = torch.nn.Parameter(torch.randn(8, 8, device="cuda"))
            torch.testing.assert_close(graphed(x), model(x))
            other = torch.randn(7, 8, device="cuda")
            torch.testing.assert_close(graphed(other), model(other))
