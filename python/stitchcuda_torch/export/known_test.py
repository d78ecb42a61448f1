"""What forward may read while it is exported: values that no caller can change."""

import io
import unittest

import torch

from ..base.errors import TaskError
from . import record, trace


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

    def test_known_masks_select(self):
        def forward(self, x):
            n = x.shape[0]
            similarity, mine = x @ x.T, torch.ones(n, n, dtype=torch.bool)
            mine.fill_diagonal_(False)
            mine[0, 1] = False
            pairs = (torch.arange(n)[:, None] % 4 == torch.arange(n) % 4).float()[~torch.eye(n, dtype=torch.bool)].view(n, -1)
            others = similarity[~torch.eye(n, dtype=torch.bool)].view(n, -1)
            return similarity[mine].sum(), others[pairs.bool()].view(n, -1), torch.masked_select(x, torch.arange(4) > 1), x[:, torch.arange(4) > 2]

        self.agrees(forward, torch.randn(8, 4))

    def test_selected_rows_are_computed_for_all(self):
        def forward(self, x, target, mask):
            y, z, far = torch.zeros_like(x), x.clone(), x.clone()
            y[mask] = torch.nn.functional.linear(x[mask].relu(), x[:4] * 2) + 1
            z[mask] += 3
            far[mask] = target[mask]
            loss = torch.nn.functional.mse_loss(x[mask], target[mask])
            entropy = torch.nn.functional.cross_entropy(x[mask], target[mask].argmax(-1), label_smoothing=0.1)
            return (
                y,
                z,
                far,
                loss,
                entropy,
                (x - target)[mask].abs().mean(),
                x[mask].softmax(-1)[:, 1].sum(),
                torch.masked_select(x, mask[:, None]).sum(),
            )

        self.agrees(forward, torch.randn(8, 4), torch.randn(8, 4), torch.arange(8) % 3 > 0)

    def test_eight_bit_floats_are_kept_as_fp16(self):
        numbers = torch.cat([torch.arange(256, dtype=torch.uint8).view(dtype).float() for dtype in (torch.float8_e4m3fn, torch.float8_e5m2)])
        numbers = numbers[numbers.isfinite()].sort().values
        between = (numbers[1:] + numbers[:-1]) / 2  # halves, and what is just beside
        beside = [between.nextafter(torch.tensor(sign * torch.inf)) for sign in (1, -1)]
        x = torch.cat([numbers, between, *beside, torch.randn(99) * 1e5])

        def forward(self, x, bytes_):
            each = [x.to(dtype).float() for dtype in (torch.float8_e4m3fn, torch.float8_e5m2)]
            return *each, bytes_.view(torch.float8_e4m3fn).to(torch.float32)

        model, program = export(forward, x, torch.arange(256, dtype=torch.uint8))
        for got, wanted in zip(program.module()(x, torch.arange(256, dtype=torch.uint8)), model(x, torch.arange(256, dtype=torch.uint8))):
            torch.testing.assert_close(got, wanted, rtol=0, atol=0, equal_nan=True)

    def test_experts_get_rows_by_their_places(self):
        def forward(self, x, up, down, router):
            weights, chosen = (x @ router).softmax(-1).topk(2, dim=-1)
            mask = torch.nn.functional.one_hot(chosen, 4).permute(2, 1, 0)
            y, z, share = torch.zeros_like(x), torch.zeros_like(x), torch.zeros_like(weights)
            for expert in range(4):
                slot, token = torch.where(mask[expert])
                if token.numel() == 0:
                    continue
                gate, value = (x[token] @ up[expert]).chunk(2, dim=-1)
                out = torch.nn.functional.linear(torch.nn.functional.silu(gate) * value, down[expert])
                y.index_add_(0, token, out * weights[token, slot, None])
                share[token, slot] += out.float().sum(1)
            hit = torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero()
            for expert in hit:
                expert = expert.item()
                slot, token = torch.where(mask[expert].squeeze(0))
                z.index_add_(0, token, (x[token] @ up[expert])[..., ::2])
            for expert in range(4):
                if mask[expert].squeeze(0).sum() > 0:
                    slot, token = torch.where(mask[expert].squeeze(0))
                    y.index_add_(0, token, x[token])
            first = chosen[:, 0] == 1
            if first.any():
                z[first] = x[first].tanh()
            return y, z, share

        inputs = torch.randn(5, 6), torch.randn(4, 6, 12), torch.randn(4, 6, 6), torch.randn(6, 4)
        self.agrees(forward, *inputs)
        self.agrees(forward, inputs[0] * 0, *inputs[1:])  # experts without a row

    def test_counts_that_fill_a_tensor_are_bounded(self):
        def forward(self, x):
            starts, ends = torch.zeros(4, dtype=torch.int64), torch.zeros(5, dtype=torch.int32)
            starts[1:] = torch.bincount(x, minlength=4)[:-1].cumsum(0)
            ends[1:] = torch.bincount(x, minlength=4).cumsum(0).to(torch.int32)
            return starts, ends

        def clamps(forward):
            return sum(node.target is torch.ops.aten.clamp.default for node in export(forward, torch.tensor([2, 0, 2]))[1].graph.nodes)

        self.agrees(forward, torch.tensor([2, 0, 2]))
        self.assertEqual(clamps(forward), 2)
        for longer in (
            lambda self, x: torch.bincount(x, minlength=4),
            lambda self, x: torch.bincount(x, minlength=4).cumsum(0).sum(),
            lambda self, x: torch.zeros(4).copy_(torch.bincount(x, minlength=5)[:4]),
            lambda self, x: torch.zeros(4).copy_(torch.bincount(x, minlength=5)[-4:]),
        ):
            self.assertEqual(clamps(longer), 0)

    def test_sorted_rows_fill_places(self):
        def forward(self, x, expert):
            order = expert.argsort(stable=True)
            chosen = expert[order]
            count = (chosen[:, None] == torch.arange(3)).sum(0)
            place = torch.arange(6) - (count.cumsum(0) - count)[chosen]
            fits = place < 2
            table = torch.zeros(3, 2, 4)
            table[chosen[fits], place[fits]] = x[order[fits]]
            y = torch.zeros_like(x)
            y.index_add_(0, order[fits], table[chosen[fits], place[fits]] * 2)
            return table, y

        self.agrees(forward, torch.randn(6, 4), torch.tensor([2, 0, 2, 2, 1, 2]))

    def test_other_uses_of_a_selection_are_refused(self):
        def other_mask(self, x):
            y = torch.zeros_like(x)
            y[x > 1] = x[x > 0]
            return y

        def written_between(self, x):
            mask, y = x > 0, torch.zeros_like(x)
            rows = x[mask]
            mask[0] = True
            y[mask] = rows
            return y

        def under_another_name(self, x):
            mask = x > 0
            rows = x[mask]
            rows.add_(1)
            return torch.zeros_like(x).masked_fill(mask, 1) + rows.sum()

        for forward in (
            other_mask,
            written_between,
            under_another_name,
            lambda self, x: x[x > 0].std(),
            lambda self, x: x + 1 if (x > 0).any() else x,
            lambda self, x: x[x > 0].mean() if (x > 0).any() else x.sum(),
            lambda self, x: x[x[:, 0] > 0] @ x.T,
            lambda self, x: x[x > 0].sum() / x[x > 0].numel(),
            lambda self, x: x[x[:, 0] > 0].softmax(0).sum(),
        ):
            with self.subTest(forward.__name__), self.assertRaises(TaskError) as refused:
                export(forward, torch.randn(8, 4))
            self.assertEqual(refused.exception.kind, "data_dependent")
