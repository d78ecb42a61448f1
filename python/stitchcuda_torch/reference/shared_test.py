"""Fingerprints tell bytes apart, wherever a bit differs."""

import unittest
from unittest import mock

import torch

from . import shared
from .shared import Fingerprints


class FingerprintTest(unittest.TestCase):
    def test_every_bit_counts(self):
        fingerprints, flat = Fingerprints(), torch.arange(101, dtype=torch.uint8)
        first = fingerprints.of(flat)
        self.assertEqual(fingerprints.of(flat.clone()), first)
        self.assertNotEqual(Fingerprints().of(flat), first)
        for place in range(flat.numel()):
            for bit in (0, 7):
                other = flat.clone()
                other[place] ^= 1 << bit
                self.assertNotEqual(fingerprints.of(other), first, (place, bit))

    def test_pieces_may_not_change_places(self):
        with mock.patch.object(shared, "PIECE", 32):
            fingerprints, flat = Fingerprints(), torch.arange(64, dtype=torch.uint8)
            self.assertNotEqual(fingerprints.of(flat.roll(32)), fingerprints.of(flat))

    def test_nothing_has_one_too(self):
        self.assertEqual(Fingerprints().of(torch.empty(0, dtype=torch.uint8)), "0" * 16)
