import copy
import unittest

import torch
from torch import nn

from .reparameterise import mix, point, reparameterise


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.decay = nn.Parameter(torch.rand(5) + 0.1)
        self.shift = nn.Parameter(torch.zeros(5))
        self.scale = nn.Parameter(torch.ones(5))
        self.register_buffer("mask", torch.ones(5, 5).tril())
        self.norm = nn.LayerNorm(5, bias=False)

    def forward(self, x):
        return self.norm(x).log1p() * self.decay


class ReparameteriseTest(unittest.TestCase):
    def test_domains(self):
        model = nn.Sequential(
            nn.Conv2d(3, 8, 3),
            nn.BatchNorm2d(8),
            nn.Linear(4, 4),
            nn.GroupNorm(2, 8),
            nn.Embedding(5, 4, padding_idx=0),
            nn.LSTM(4, 4),
            nn.MultiheadAttention(8, 2),
            nn.InstanceNorm2d(4),
            nn.BatchNorm1d(4, affine=False),
            Own(),
        )
        before = copy.deepcopy(model.state_dict())
        reparameterise(model, 7)
        after = model.state_dict()
        self.assertTrue(all(bool(tensor.isfinite().all()) for tensor in after.values()))
        for name in ("1.running_var", "8.running_var"):
            self.assertTrue(bool(((after[name] >= 0.5) & (after[name] <= 2)).all()))
        for name in ("1.weight", "3.weight", "9.norm.weight", "9.scale"):
            self.assertTrue(bool(((after[name].abs() >= 0.5) & (after[name].abs() <= 1.5)).all()), name)
            self.assertLess(after[name].min().item(), after[name].max().item())
        self.assertTrue(bool((after["9.decay"] > 0).all()) and bool((after["9.shift"] != 0).all()))
        self.assertTrue(torch.equal(after["4.weight"][0], before["4.weight"][0]), "padding")
        self.assertEqual({name for name in before if torch.equal(before[name], after[name])}, {"9.mask"})
        self.assertGreaterEqual(after["1.num_batches_tracked"].item(), 1)

    def test_what_starts_as_a_special_case_is_none(self):
        model = nn.Sequential(nn.PReLU(64), nn.Linear(4, 4))
        model.register_parameter("eye", nn.Parameter(torch.eye(4)))
        reparameterise(model, 7)
        slopes = model[0].weight
        self.assertTrue(bool((slopes < 0).any()) and bool((slopes > 1).any()))
        self.assertEqual(int((model.eye == 0).sum()), 0)

    def test_nan_does_not_stay(self):
        model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), Own())
        with torch.no_grad():
            for tensor in model.parameters():
                tensor.view(-1)[0] = float("nan")
        reparameterise(model, 7)
        self.assertTrue(all(bool(tensor.isfinite().all()) for tensor in model.parameters()))

    def test_faint_weights_make_epsilons_count(self):
        torch.manual_seed(0)
        x, outputs = torch.randn(16, 24), []
        for epsilon in (1e-5, 1e-12):
            torch.manual_seed(1)
            model = nn.Sequential(nn.Linear(24, 24), nn.BatchNorm1d(24, eps=epsilon))
            reparameterise(model, 3, faint=True)
            outputs.append(model(x))
        self.assertTrue(all(bool((model[0].weight == 0).all(dim)[None].any()) for dim in (0, 1)))
        self.assertGreater((outputs[0] - outputs[1]).norm().item(), 1e-3 * outputs[0].norm().item())

    def test_pointed_weights_remember(self):
        torch.manual_seed(0)
        lstm, x = nn.LSTM(4, 8), torch.randn(64, 2, 4)
        reparameterise(lstm, 1)
        far = (lstm(x)[0][-1] - lstm(x[32:])[0][-1]).abs().max().item()
        point(
            dict(lstm.named_parameters()),
            [{"name": name, "begin": 8, "end": 16, "scale": 1.0, "add": 2.5, "diagonal": 0.0} for name in ("bias_ih_l0", "bias_hh_l0", "unknown")],
        )
        self.assertGreater((lstm(x)[0][-1] - lstm(x[32:])[0][-1]).abs().max().item(), max(0.01, 10 * far))

    def test_one_number_throughout_becomes_others(self):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.BatchNorm1d(6))
        before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        mix(model.state_dict(), 3)
        after = model.state_dict()
        self.assertTrue(torch.equal(after["0.weight"], before["0.weight"]) and torch.equal(after["0.bias"], before["0.bias"]))
        self.assertTrue(torch.equal(after["1.weight"], after["2.running_var"]), "the same where number and size are")
        self.assertTrue(bool((after["1.weight"] >= 0.5).all()) and len(after["1.weight"].unique()) == 6)
        self.assertEqual(len(after["1.bias"].unique()), 6)

    def test_seed_and_ties(self):
        first, second = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)), nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
        for model in (first, second):
            model[1].weight = model[0].weight
        second.load_state_dict(first.state_dict())
        reparameterise(first, 1)
        reparameterise(second, 1)
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters())))
        self.assertIs(first[0].weight, first[1].weight)

    def test_a_deep_network_feels_its_input_again(self):
        torch.manual_seed(0)
        model = nn.Sequential(*[layer for _ in range(16) for layer in (nn.Linear(128, 128), nn.ReLU())], nn.Linear(128, 10))
        x, y = torch.rand(4, 128), torch.rand(4, 128)
        with torch.no_grad():
            before = (model(x) - model(y)).abs().max()
            reparameterise(model, 2)
            after = (model(x) - model(y)).abs().max()
        self.assertLess(before.item(), 1e-5)
        self.assertGreater(after.item(), 1e-2)
