import unittest

import torch
from torch import nn

from .counterparts import renew, tensors_in
from .model_new import find


class Own(nn.Module):
    """A layer drawn from a seed, and whatever else is given."""

    def __init__(self, **rest):
        super().__init__()
        torch.manual_seed(1)
        self.turned = nn.Parameter(nn.Linear(3, 5).weight.detach().t().contiguous())
        for name, value in rest.items():
            setattr(self, name, value)


def weight():
    torch.manual_seed(1)
    return nn.Linear(3, 5).weight.detach()


NAMES, NUMBERS = ["layer.weight", "norm.weight", "norm.var"], {"norm.weight": 1.0, "norm.var": 1.0}


def renewed(model, gain):
    return renew(model, NAMES, [weight(), gain, gain], NUMBERS, find)


class CounterpartsTest(unittest.TestCase):
    def setUp(self):
        self.gain = torch.rand(5)

    def test_gains_by_other_names_get_the_given_numbers(self):
        model = Own(gamma=nn.Parameter(torch.ones(5)), spread=torch.ones(1, 5))
        self.assertTrue(renewed(model, self.gain))
        self.assertTrue(torch.equal(model.gamma, self.gain) and torch.equal(model.spread[0], self.gain))

    def test_a_model_without_a_place_for_them_has_none(self):
        self.assertTrue(renewed(Own(), self.gain))
        self.assertTrue(renewed(Own(scratch=torch.zeros(2)), self.gain))

    def test_what_may_be_made_of_them_is_left_alone(self):
        for rest in ({"folded": torch.rand(5)}, {"gamma": torch.ones(5)}, {"opaque": object()}, {"kept": [{"a": torch.rand(9)}]}):
            self.assertFalse(renewed(Own(**rest), self.gain), rest.keys())
        changed = Own()
        changed.turned.data.mul_(0.5)
        self.assertFalse(renewed(changed, self.gain), "a layer that isn't as drawn may have them in it")

    def test_weights_are_renewed_where_the_original_was(self):
        other, gain = torch.rand(5, 3), torch.ones(5)
        original = dict(zip(NAMES, [weight(), gain, gain]))
        model = Own(gamma=torch.ones(5), spread=torch.ones(5))
        self.assertTrue(renew(model, NAMES, [other, self.gain, self.gain], NUMBERS, find, original))
        self.assertTrue(torch.equal(model.turned, other.t()) and torch.equal(model.gamma, self.gain))
        self.assertFalse(
            renew(Own(summed=torch.ones(3)), [*NAMES, "more"], [other, gain, gain, other], NUMBERS, find, {**original, "more": weight() + 1})
        )

    def test_weights_that_were_drawn_are_not_renewed(self):
        model = Own(gamma=torch.ones(5), spread=torch.ones(5))
        self.assertFalse(renew(model, NAMES, [torch.rand(5, 3), self.gain, self.gain], NUMBERS, find))

    def test_tensors_are_found_wherever_they_are(self):
        one = torch.ones(2)
        model = Own(layers=[nn.Linear(2, 2), (one, {"also": one})], act=torch.relu, count=torch.ones(3, dtype=torch.int64))
        self.assertEqual(len(tensors_in(model)), 4)
