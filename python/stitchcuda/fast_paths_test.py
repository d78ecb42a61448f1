import unittest

import torch
from torch import nn

from .fast_paths import OPENED, attention, opened


def graph_of(model, *arguments, **keywords):
    """What Dynamo hands to a backend, and with which arguments."""
    found = []

    def backend(graph, _):
        def run(*given):
            found.append((graph, given))
            return graph(*given)

        return run

    torch._dynamo.reset()
    with torch.inference_mode():
        torch.compile(model, backend=backend)(*arguments, **keywords)
    ((graph, given),) = found
    return graph, given


class FastPaths(unittest.TestCase):
    def agree(self, model, *arguments, **keywords):
        graph, given = graph_of(model.eval(), *arguments, **keywords)
        self.assertTrue(any(node.target in OPENED for node in graph.graph.nodes))
        other = opened(graph)
        self.assertFalse(any(node.target in OPENED for node in other.graph.nodes))
        with torch.inference_mode():
            for one, two in zip(graph(*given), other(*given)):
                torch.testing.assert_close(two, one)

    def test_encoder_layers(self):
        x = torch.randn(2, 5, 16)
        for norm_first, activation in ((False, "relu"), (True, "gelu")):
            self.agree(nn.TransformerEncoderLayer(16, 4, 32, activation=activation, norm_first=norm_first, batch_first=True), x)

    def test_masks(self):
        layer, x = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), torch.randn(2, 5, 16)
        causal = nn.Transformer.generate_square_subsequent_mask(5)
        padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
        self.agree(layer, x, src_mask=causal)
        self.agree(layer, x, src_key_padding_mask=padding)

    def test_attention_with_its_weights(self):
        layer, x = nn.MultiheadAttention(16, 4, batch_first=True).eval(), torch.randn(2, 5, 16)
        weights = layer.in_proj_weight, layer.in_proj_bias, layer.out_proj.weight, layer.out_proj.bias
        both = torch.rand(2, 4, 5, 5) > 0.9  # merged masks, one for every head
        with torch.inference_mode():
            for mask, kind in ((None, None), (both[0, 0], 0), (torch.arange(5) > torch.tensor([[3], [2]]), 1), (both, 2)):
                for wanted, mean in ((True, True), (True, False), (False, True)):
                    arguments = (x, x, x, 16, 4, *weights, mask, wanted, mean, kind)
                    for one, two in zip(torch._native_multi_head_attention(*arguments), attention(*arguments)):
                        self.assertEqual(one is None or one.numel() == 0, two is None)
                        if two is not None:
                            torch.testing.assert_close(two, one)

    def test_a_graph_without_them_stays(self):
        graph, _ = graph_of(nn.Linear(3, 4), torch.randn(2, 3))
        self.assertIs(opened(graph), graph)
