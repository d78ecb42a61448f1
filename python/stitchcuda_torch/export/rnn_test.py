import itertools
import unittest

import torch

from . import record, trace

ARGUMENTS = ["input", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first"]


def recurrent_nodes(module, *inputs):
    program = trace.export(module, trace.as_fake((inputs, {})), __file__)
    document, _ = record.record(program, __file__)
    return [node for node in document["nodes"] if node["op"].startswith(("aten.lstm", "aten.gru", "aten.rnn"))]


class RnnTest(unittest.TestCase):
    def test_one_node_with_the_shapes_of_a_real_run(self):
        kinds = {torch.nn.LSTM: "aten.lstm.input", torch.nn.GRU: "aten.gru.input", torch.nn.RNN: "aten.rnn_tanh.input"}
        for (kind, op), batch_first, bidirectional in itertools.product(kinds.items(), (False, True), (False, True)):
            with self.subTest(op, batch_first=batch_first, bidirectional=bidirectional):
                module, x = kind(3, 5, 2, batch_first=batch_first, bidirectional=bidirectional), torch.rand(4, 6, 3)
                (node,) = recurrent_nodes(module, x)
                self.assertEqual((node["op"], list(node["args"])), (op, ARGUMENTS))
                output, state = module(x)
                real = [output, *(state if isinstance(state, tuple) else [state])]
                self.assertEqual([result["shape"] for result in node["outputs"]], [list(tensor.shape) for tensor in real])

    def test_projection_and_relu(self):
        (node,) = recurrent_nodes(torch.nn.LSTM(3, 5, proj_size=2), torch.rand(4, 6, 3))
        self.assertEqual([result["shape"] for result in node["outputs"]], [[4, 6, 2], [1, 6, 2], [1, 6, 5]])
        (node,) = recurrent_nodes(torch.nn.RNN(3, 5, nonlinearity="relu"), torch.rand(4, 6, 3))
        self.assertEqual(node["op"], "aten.rnn_relu.input")

    def test_real_calls_are_untouched_afterwards(self):
        module, x = torch.nn.LSTM(3, 5), torch.rand(4, 6, 3)
        recurrent_nodes(module, x)
        self.assertEqual(module(x)[0].shape, (4, 6, 5))
