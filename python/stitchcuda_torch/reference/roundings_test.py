"""One backward pass against rounding for real, one place at a time."""

import math
import os
import tempfile
import unittest

import torch
from torch import nn

from ..export import record, trace
from . import roundings
from .answers import Answers
from .interpret import Program, Unmeasured, graph_name
from .roundings import Exported

TASK = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.drop, self.last = nn.Conv1d(8, 16, 3), nn.Dropout(0.5), nn.Linear(16, 4)

    def forward(self, x):
        return self.last(self.drop(self.conv(x)).relu().mean(2))

def get_init_inputs():
    return []

def get_inputs():
    return [torch.randn(16, 8, 32)]
"""


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.second, self.third = nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.Conv2d(16, 16, 1)
        self.last = nn.Linear(16, 10)

    def forward(self, x):
        x = torch.relu_(self.norm(self.first(x)))
        y = torch.relu(self.second(x))
        y += nn.functional.dropout(x, 0.5, False, True)
        y = nn.functional.max_pool2d(self.third(y), 2)
        pooled = y.mean((2, 3), keepdim=True)
        return self.last(nn.functional.relu_(pooled.flatten(1)))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(32), nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).view(4, 8, 3, 2, 16).permute(2, 0, 3, 1, 4).unbind(0)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).reshape(4, 8, 32)), q.sum()


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(8, 12, 2, batch_first=True)

    def forward(self, x):
        return self.rnn(x)[0][:, -1]


def exported(model, *inputs):
    program = trace.export(model, trace.as_fake((inputs, {})), __file__)
    document, weights = record.record(program, __file__)
    return document, {**weights, **dict(model.named_parameters()), **dict(model.named_buffers())}


def measured(model, *inputs, probes=8):
    document, state = exported(model, *inputs)
    answer = roundings.measure(document, state, list(inputs), {}, 1e-5, torch.float32, None, probes, 0)
    return document, state, answer


def measure_directly(document, state, inputs, places):
    """Each output's relative error where these places, {("value", name) or ("operand", (node, slot)): precision}, are rounded."""

    def touch(kind, name, tensor):
        precision = places.get((kind, name))
        return roundings.rounded(tensor, precision) if precision else tensor

    with torch.no_grad():
        exact = Program(document, state, inputs, lambda kind, name, tensor: tensor)
        truth = exact.run()
        got = Program(document, state, inputs, touch).run()
    return {name: float((got[name] - truth[name]).norm()) / max(float(truth[name].norm()), exact.units.get(name, 0.0), 1e-300) for name in truth}


class RoundingsTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def hold_against_rounding(self, model, inputs, within=1.7):
        """Every place of weight, one by one, and all of them at once: errors add in squares."""
        document, state, answer = measured(model, *inputs)
        group, output = 0, answer["groups"][0]["outputs"][0]
        places = {("value", name): entry["shares"] for name, entry in answer["values"].items()}
        places.update(
            {
                ("operand", (owner, slot["slot"])): slot["shares"]
                for owner, entry in answer["operands"].items()
                for slot in entry["slots"]
                if owner != "batch_norm"
            }
        )
        shares = {place: entry[group][roundings.TF32] for place, entry in places.items()}
        checked = [place for place in shares if shares[place] > 0.01 * max(shares.values())]
        self.assertGreater(len(checked), 4)
        for place in checked:
            error = measure_directly(document, state, list(inputs), {place: "tf32"})[output]
            self.assertLess(abs(math.log(math.sqrt(shares[place]) / error)), math.log(2.5), (place, math.sqrt(shares[place]), error))
        values = [place for place in shares if place[0] == "value"]
        error = measure_directly(document, state, list(inputs), {place: "tf32" for place in values})[output]
        total = math.sqrt(sum(shares[place] for place in values))
        self.assertLess(abs(math.log(total / error)), math.log(within), (total, error))

    def test_convolutions_and_a_shortcut(self):
        self.hold_against_rounding(Residual().eval(), (torch.randn(8, 3, 12, 12),))

    def test_statistics_of_the_batch_and_what_they_leave_in_buffers(self):
        model = Residual().train()
        inputs = (torch.randn(8, 3, 12, 12),)
        self.hold_against_rounding(model, inputs)
        document, state, answer = measured(model, *inputs)
        self.assertEqual([group["name"] for group in answer["groups"]], ["output_0", "updates"])
        self.assertEqual(set(answer["groups"][1]["outputs"]), {"update:norm.running_mean", "update:norm.running_var"})
        before = state["norm.running_var"].clone()
        truth = Program(document, state, list(inputs), lambda kind, name, x: x).run()
        model(*inputs)
        self.assertLess((truth["update:norm.running_var"] - model.norm.running_var).norm() / before.norm(), 1e-6)
        # What comes behind the norm can't show in its statistics.
        self.assertEqual(answer["values"]["relu"]["shares"][1][0], 0)
        first = answer["operands"]["conv2d"]
        self.assertEqual((first["module"], [slot["slot"] for slot in first["slots"]]), ("first", ["input", "weight"]))
        self.assertGreater(first["slots"][1]["shares"][1][0], 0)
        self.assertEqual(answer["operands"]["batch_norm"]["slots"], first["slots"])

    def test_attention_with_two_outputs(self):
        self.hold_against_rounding(Attention(), (torch.randn(4, 8, 32),))
        answer = measured(Attention(), torch.randn(4, 8, 32))[2]
        self.assertEqual([group["name"] for group in answer["groups"]], ["output_0", "output_1"])
        slots = answer["operands"]["scaled_dot_product_attention"]["slots"]
        self.assertEqual([slot["slot"] for slot in slots], ["query", "key", "value"])

    def test_a_recurrence(self):
        self.hold_against_rounding(Recurrent(), (torch.randn(6, 5, 8),))

    def test_a_model_that_is_in_bf16_itself(self):
        """Every result is rounded where it is stored: that is PyTorch's own error."""
        model, x = Residual().eval().bfloat16(), torch.randn(8, 3, 12, 12).bfloat16()
        document, state, answer = measured(model, x)
        truth = Program(document, state, [x], lambda kind, name, tensor: tensor, torch.bfloat16).run()["output_0"]
        with torch.no_grad():
            error = float((model(x).double() - truth).norm() / truth.norm())
        results = {graph_name(entry["name"]) for node in document["nodes"] for entry in node["outputs"] if not node["op"].startswith("aten.dropout")}
        total = math.sqrt(sum(answer["values"][name]["shares"][0][roundings.BF16] for name in results))
        self.assertLess(abs(math.log(total / error)), math.log(2), (total, error))

    def test_a_common_factor(self):
        """ReLUs and products without biases pass a factor on."""
        model = nn.Sequential(nn.Linear(8, 8, bias=False), nn.ReLU(), nn.Linear(8, 4, bias=False))
        answer = measured(model, torch.randn(64, 8), probes=32)[2]
        self.assertAlmostEqual(answer["values"]["linear"]["shares"][0][roundings.SCALE], 1, delta=0.3)

    def test_numbers_that_fp16_hasnt(self):
        class Large(nn.Module):
            def forward(self, x):
                return (x * 1e6).sum(1) * 1e-6

        answer = measured(Large(), torch.randn(4, 4).abs() + 1)[2]
        self.assertEqual(answer["values"]["mul"]["shares"][0][roundings.FP16], roundings.HUGE)
        self.assertGreater(answer["values"]["mul"]["largest"], 65504)

    def test_where_pytorch_overflows_nothing_is_known(self):
        class Overflows(nn.Module):
            def forward(self, x):
                return x * 300 * 300 / 300

        model, x = Overflows(), torch.full((4, 4), 2.0, dtype=torch.float16)
        document, state = exported(model, x)
        with self.assertRaisesRegex(roundings.Unmeasured, "PyTorch itself overflows"):
            roundings.measure(document, state, [x], {"output_0": model(x)}, 1e-5, torch.float16, None, 1, 0)

    def test_the_request(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "task.py")
            with open(path, "w") as file:
                file.write(TASK)
            answers = Answers(lambda text: None)
            answers.model.load(path, mode="eval")
            answer = answers.roundings.roundings("default", seed=3, probes=1)
            self.assertGreater(answer["outputs"]["output_0"]["error"], 1e-5)
            own = sum(slot["shares"][0][roundings.TF32] for slot in answer["operands"]["conv1d"]["slots"])
            # TF32 on a CPU rounds the operands of convolutions: that is all of PyTorch's error.
            self.assertLess(abs(math.log(math.sqrt(own) / answer["outputs"]["output_0"]["error"])), math.log(1.5))
            answers.model.load(path, mode="train")
            answers.roundings.exported = Exported()
            self.assertIn("random", answers.roundings.roundings("default", seed=3, probes=1)["unavailable"])

    def test_products_that_are_concatenated_add_up(self):
        class Fire(nn.Module):
            def __init__(self):
                super().__init__()
                self.one, self.three = nn.Conv2d(4, 8, 1), nn.Conv2d(4, 8, 3, padding=1)

            def forward(self, x):
                return torch.cat([self.one(x).relu(), self.three(x).relu()], 1)

        operands = measured(Fire(), torch.randn(2, 4, 5, 5))[2]["operands"]
        slots = [operands[name]["slots"][0]["shares"][0] for name in ("conv2d", "conv2d_1", "cat.joined")]
        self.assertGreater(slots[0][roundings.FP16], 0)
        self.assertAlmostEqual(slots[0][roundings.FP16] + slots[1][roundings.FP16], slots[2][roundings.FP16])

    def test_what_cannot_be_measured_says_why(self):
        with self.assertRaisesRegex(Unmeasured, "random"):
            measured(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).train(), torch.randn(2, 4))
