import unittest

import torch
from torch import nn

from ..export.carried import state
from .copies import SMALL, Kept, copied
from .evaluate import with_moved_weights


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last, self.norm = nn.Linear(4, 4), nn.Linear(4, 4), nn.BatchNorm1d(4)
        self.last.weight = self.first.weight
        self.lstm = nn.LSTM(4, 4)
        self.register_buffer("whole", torch.arange(8.0))
        self.register_buffer("part", self.whole[:4])
        self.register_buffer("turned", torch.rand(3, 4).t())
        self.register_buffer("large", torch.zeros(SMALL + 1))
        self.register_buffer("nothing", torch.tensor(float("nan")))
        self.calls = []


class Copies(unittest.TestCase):
    def test_are_what_deepcopy_makes(self):
        model = Network()
        model.norm.bias.requires_grad_(False)
        copy = copied(model)
        self.assertEqual([*state(model)], [*state(copy)])
        for (name, old), new in zip(state(model).items(), state(copy).values()):
            self.assertTrue(torch.equal(old.nan_to_num(7), new.nan_to_num(7)), name)
            self.assertEqual((type(old), old.dtype, old.stride(), old.requires_grad), (type(new), new.dtype, new.stride(), new.requires_grad), name)
            self.assertNotEqual(old.untyped_storage().data_ptr(), new.untyped_storage().data_ptr(), name)
        self.assertIs(copy.first.weight, copy.last.weight)
        self.assertTrue(all(a is b for a, b in zip(copy.lstm._flat_weights, copy.lstm.parameters())))
        copy.whole[0] = 9
        self.assertEqual(copy.part[0].item(), 9)
        copy.calls.append(1)
        self.assertEqual(model.calls, [])

    def test_tensors_are_made_as_asked(self):
        copy = copied(Network(), torch.Tensor.double)
        self.assertEqual(copy.first.weight.dtype, torch.float64)
        self.assertIsInstance(copy.first.weight, nn.Parameter)
        self.assertEqual(copy.norm.num_batches_tracked.dtype, torch.float64)

    def test_what_changed_is_named_in_order(self):
        model = Network()
        copy = copied(model)
        kept = Kept(state(copy), state(model))
        self.assertEqual(kept.changed(state(copy)), [])
        with torch.no_grad():
            copy.large[-1] = 1
            copy.norm.running_mean += 1
            copy.first.bias.data[2] = 3
            copy.nothing = torch.tensor([1.0])
        self.assertEqual(kept.changed(state(copy)), ["first.bias", "large", "nothing", "norm.running_mean"])

    def test_weights_are_moved_by_as_much_as_asked(self):
        model = nn.Linear(512, 2, bias=False)
        with torch.no_grad():
            model.weight[1] *= 1e-6  # small by itself, not because its sum cancels
        x = torch.randn(64, 512, dtype=torch.float64)
        truth = x @ model.weight.double().t()
        moved = [with_moved_weights(model, 1e-3, seed)(x) for seed in (1, 1, 2)]
        self.assertTrue(torch.equal(moved[0], moved[1]))
        self.assertFalse(torch.equal(moved[0], moved[2]))
        change = (moved[0] - truth).norm(dim=0) / truth.norm(dim=0)
        self.assertTrue(bool(((change > 1e-4) & (change < 1e-3)).all()), change)
        self.assertEqual(model.weight.dtype, torch.float32)


if __name__ == "__main__":
    unittest.main()
