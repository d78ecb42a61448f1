"""What forward may read while it is exported: values that no caller can change."""

import io
import unittest

import torch

from . import record, trace
from .errors import TaskError


def export(forward, *inputs):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.sizes = [torch.tensor([[1, 2, 3], [1, 1, 2]])]
            self.register_buffer("stride", torch.tensor(2), persistent=False)
            self.register_buffer("steps", torch.tensor(2))

        def forward(self, *inputs):
            return forward(self, *inputs)

    model = Model()
    program = trace.export(model, trace.as_fake((inputs, {})), __file__)
    record.record(program, __file__)
    return model, program


class KnownTest(unittest.TestCase):
    def agrees(self, forward, *inputs):
        model, program = export(forward, *inputs)
        torch.testing.assert_close(program.module()(*inputs), model(*inputs))

    def test_held_sizes_may_be_read(self):
        def forward(self, x):
            lengths = self.sizes[0].prod(-1)
            rows = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
            parts = torch.split(x, lengths.tolist())
            if lengths.max() > 4:
                parts = [part + 1 for part in parts]
            return torch.cat([part.sum(0, keepdim=True) for part in parts]), x * rows[:, None]

        self.agrees(forward, torch.randn(8, 4))

    def test_literals_may_be_read(self):
        def forward(self, x):
            count = torch.tensor([1, 2]).sum()
            ends = torch.unique_consecutive(torch.tensor([0, 3, 3, 8]))
            x = torch.cat([part.relu() for part in x.split(ends.diff().tolist())])
            return x * count.item() if (torch.arange(4) > 2).any() else x

        self.agrees(forward, torch.randn(8, 4))

    def test_buffers_of_sizes_may_be_read(self):
        self.agrees(lambda self, x: x[: torch.ceil((x.shape[0] - 3) / self.stride).long()] if self.stride > 1 else x, torch.randn(8, 4))

        def counts(self, x):
            self.stride += 1
            return x if self.stride > 1 else -x

        for forward in (counts, lambda self, x: x if self.steps > 1 else -x):  # the second is in the state dict: it may change
            with self.assertRaises(TaskError) as caught:
                export(forward, torch.randn(8, 4))
            self.assertEqual(caught.exception.kind, "data_dependent")

    def test_vmap_is_traced(self):
        self.agrees(lambda self, x: x * torch.vmap(lambda i, j: i >= j, (0, None))(torch.arange(8), torch.arange(4)), torch.randn(8, 4))

    def test_what_is_written_to_is_not_known(self):
        def of_range(self, x):
            positions = torch.arange(4)
            positions[1:] = x[0].long()
            return x * positions.tolist()[1]

        def of_held(self, x):
            self.sizes[0][0].copy_(x[0, :3].long())
            return x * self.sizes[0].sum().item()

        for forward in (of_range, of_held):
            with self.subTest(forward.__name__):
                with self.assertRaises(TaskError) as caught:
                    export(forward, torch.randn(8, 3) * 5)
                self.assertEqual(caught.exception.kind, "data_dependent")

    def test_checks_leave_the_program(self):
        def forward(self, x):
            torch._check_tensor_all(x < 9, lambda: "too large")
            return x + 1

        _, program = export(forward, torch.randn(3))
        torch.export.save(program, io.BytesIO())  # a check's nodes can't be
        self.assertEqual([node.name for node in program.graph.nodes if node.op == "call_function"], ["add"])

    def test_inputs_stay_unknown(self):
        with self.assertRaises(TaskError) as caught:
            export(lambda self, x, n: x * n.item() if n > 1 else x, torch.randn(2), torch.tensor(3))
        self.assertEqual(caught.exception.kind, "data_dependent")


if __name__ == "__main__":
    unittest.main()
