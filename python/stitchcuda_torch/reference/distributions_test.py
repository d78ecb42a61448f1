import unittest

import torch

from . import distributions

GO_BELOW = ("normal", "shifted", "scaled", "sparse", "waves", "low")  # zero, whatever the task does


class DistributionsTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        square = torch.rand(8, 8)
        self.inputs = {
            "plain": torch.randn(4, 50),
            "nonnegative": torch.rand(4, 3, 5),
            "lower": square.tril(),
            "upper": square.triu(),
            "symmetric": square + square.T,
            "simplex": torch.randn(4, 9).softmax(-1),
            "ids": torch.randint(7, (4, 5)),
            "mask": torch.rand(4, 5) > 0.5,
            "labels": torch.randint(0, 2, (64,)).float() * 2 - 1,
            "state": torch.zeros(2, 4),
            "half": torch.randn(4, 4).half(),
            "vector": torch.randn(30),
            "scalar": torch.tensor(2.0),
            "empty": torch.empty(0, 3),
            "one sample": torch.randn(1, 6),
        }
        self.facts = {name: distributions.study(tensor) for name, tensor in self.inputs.items()}

    def test_facts(self):
        for name in ("lower", "upper", "symmetric", "simplex"):
            self.assertEqual(self.facts[name].structure, name)
        self.assertTrue(all(self.facts[name].structure == "" for name in ("plain", "nonnegative", "state", "half", "scalar")))
        self.assertEqual([name for name, fact in self.facts.items() if not fact.free], ["ids", "mask", "labels", "empty"])
        self.assertEqual(
            [name for name, fact in self.facts.items() if fact.nonnegative], ["nonnegative", "lower", "upper", "symmetric", "simplex", "scalar"]
        )

    def test_every_draw_keeps_type_shape_and_structure(self):
        for name in ("task", *distributions.DRAWS):
            drawn, again, other = (distributions.draw(name, list(self.inputs.values()), list(self.facts.values()), seed) for seed in (5, 5, 6))
            for (key, old), new, same, different in zip(self.inputs.items(), drawn, again, other):
                with self.subTest(key, distribution=name):
                    self.assertEqual((new.dtype, new.shape), (old.dtype, old.shape))
                    self.assertTrue(torch.equal(new.nan_to_num(), same.nan_to_num()))
                    if not self.facts[key].free or name == "task":
                        self.assertTrue(torch.equal(new, old))
                        continue
                    self.assertTrue(name == "not finite" or bool(new.isfinite().all()))
                    # Few elements may come out the same by chance, or have no room for what is planted.
                    alone = name == "zero rows" and sum(size > 1 for size in new.shape) < 2  # one row: zeros
                    if new.numel() >= 8 and not alone and not (name == "not finite" and self.facts[key].structure):
                        self.assertFalse(torch.equal(new, different))
                    if self.facts[key].structure and name != "ties":  # several structures fit one value
                        self.assertEqual(distributions.structure_of(new), self.facts[key].structure)
                    if self.facts[key].nonnegative and name not in GO_BELOW:
                        self.assertTrue(bool((new.nan_to_num() >= 0).all()))

    def test_one_input_is_far_larger(self):
        for count in (2, 4, 9):
            numbers = [torch.randn(50) for _ in range(count)] + [self.inputs["ids"]]
            facts = [distributions.study(tensor) for tensor in numbers]
            large = set()
            for seed in range(64):
                drawn = distributions.draw("uneven", numbers, facts, seed)
                sizes = [float(new.norm() / old.norm()) for new, old in zip(drawn[:count], numbers)]
                self.assertEqual(sorted(sizes), [1 / 64] * (count - 1) + [64])
                large.add(sizes.index(64))
                self.assertTrue(torch.equal(drawn[-1], self.inputs["ids"]))
            self.assertEqual(len(large), count)

    def test_choices_that_the_task_never_varies(self):
        causal = torch.full((16, 16), float("-inf")).triu(1)
        inputs = [
            torch.ones(6, 40, dtype=torch.bool),
            torch.rand(4, 5) > 0.5,
            torch.arange(12).expand(3, 12),
            torch.randint(0, 20, (7, 9)),
            torch.tensor([0, 4, 4, 9]),
            torch.randperm(9),
            torch.randn(3, 4),
            causal,
            torch.full((5,), 30),
        ]
        again = [torch.zeros_like(x) if i in (1, 3, 6) else x for i, x in enumerate(inputs)]
        facts = [distributions.study(x) for x in inputs]
        mask, mixed, positions, tokens, offsets, order, numbers, floats, lengths = drawn = distributions.draw("masks", inputs, facts, 8, again)
        self.assertTrue(0.3 < mask.float().mean() < 0.7 and bool(mask[:, 0].all()))
        self.assertTrue(torch.equal(positions.sort(-1).values, inputs[2]) and not torch.equal(positions, inputs[2]))
        self.assertLess(set(tokens.unique().tolist()), set(inputs[3].unique().tolist()))
        self.assertLessEqual(len(tokens.unique()), (len(inputs[3].unique()) + 1) // 2)
        self.assertTrue(torch.equal(offsets, offsets.sort().values) and (int(offsets[0]), int(offsets[-1])) == (0, 9))
        self.assertTrue(torch.equal(order.sort().values, inputs[5].sort().values) and not torch.equal(order, inputs[5]))
        self.assertTrue(set(floats.unique().tolist()) == {0.0, float("-inf")} and bool((floats[:, 0] == 0).all()) and not torch.equal(floats, causal))
        self.assertTrue(1 <= int(lengths.min()) <= int(lengths.max()) <= 30)
        for same in (1, 6):
            self.assertTrue(torch.equal(drawn[same], inputs[same]))
        alone = distributions.draw("masks", inputs, facts, 9, again)
        self.assertEqual([i for i, (old, new) in enumerate(zip(inputs, alone)) if old is not new], [0])

    def test_masks_with_rows_that_keep_nothing(self):
        inputs = [torch.ones(4, 9).tril().bool(), torch.ones(5, 7, dtype=torch.int64), torch.randint(0, 2, (6,)), torch.randn(4, 9)]
        facts = [distributions.study(tensor) for tensor in inputs]
        booleans, ones, lengths, numbers = distributions.draw("empty rows", inputs, facts, 3, inputs)
        for mask, old in ((booleans, inputs[0]), (ones, inputs[1])):
            self.assertEqual((mask.dtype, mask.shape), (old.dtype, old.shape))
            self.assertTrue((mask == 0).all(-1).any() and (mask == 1).all(-1).any())
        self.assertTrue(torch.equal(lengths, inputs[2]) and torch.equal(numbers, inputs[3]))
        self.assertEqual(set(distributions.draw("masks", inputs, facts, 8, inputs)[1].unique().tolist()), {0, 1})

    def test_plants(self):
        task = torch.rand(64, 100)
        facts = distributions.study(task)
        planted = {"values": [700.0, "nan"], "share": 0.25, "smallest": 0, "largest": 0}
        (drawn,) = distributions.plant("bounds", [planted], [task], [facts], 3)
        self.assertTrue(0.05 < (drawn == 700).float().mean() < 0.25 and 0.05 < drawn.isnan().float().mean() < 0.25)
        self.assertGreater((drawn == task).float().mean().item(), 0.55)
        self.assertTrue((drawn == 700).all(1).any() or drawn.isnan().all(1).any(), "a whole row")
        sizes = distributions.plant("sizes", [{"values": [], "smallest": 1e-6, "largest": 1e-2}], [task], [facts], 3)[0].square().mean(1).sqrt()
        self.assertTrue(1e-6 <= sizes.min() < 1e-5 and 1e-3 < sizes.max() <= 1.01e-2)

    def test_plants_among_integers(self):
        labels = torch.randint(1, 10, (200,))
        planted = {"values": [-100], "share": 0.25, "smallest": 0, "largest": 0}
        facts = [distributions.study(labels)]
        (drawn,) = distributions.plant("bounds", [planted], [labels], facts, 3)
        self.assertTrue((drawn == -100).any() and (drawn == labels).any() and drawn.dtype == labels.dtype)
        positions, choices = torch.randperm(9), torch.randint(0, 2, (200,))
        for tensor, is_number in ((labels, True), (choices, False), (positions, False), (labels.sort().values, False)):
            (drawn,) = distributions.plant("wide integers", [planted], [tensor], facts, 3)
            self.assertEqual(bool((drawn == -100).any()), is_number)

    def test_each_row_of_positions_is_in_an_order_of_its_own(self):
        positions = torch.arange(12).expand(3, -1)
        drawn = distributions.draw("masks", [positions], [distributions.study(positions)], 4, [positions])[0]
        self.assertTrue(torch.equal(drawn.sort(-1).values, positions))
        self.assertFalse(torch.equal(drawn[0], drawn[1]))

    def test_means_that_are_large_in_places(self):
        task = torch.randn(6, 8, 30)
        facts = distributions.study(task)
        means = [distributions.draw("offset", [task], [facts], seed)[0].mean(-1) > 0.9 for seed in (4, 5, 6)]
        self.assertTrue(bool(means[0].all()))
        for mean, other in zip(means[1:], (1, 0)):
            along = mean.float().mean(other)
            self.assertTrue(along[0] < 0.5 and along[-1] == 1, "the first is as ever, the last isn't")

    def test_what_each_is_for(self):
        task = torch.rand(64, 1000)
        facts = distributions.study(task)
        drawn = {name: distributions.draw(name, [task], [facts], 3, [task])[0] for name in distributions.NAMES}
        self.assertLess(abs(drawn["normal"].mean().item()), 0.02)
        self.assertGreater(drawn["scaled"].std(1).max() / drawn["scaled"].std(1).min(), 8)
        self.assertLess((drawn["sparse"] != 0).float().mean().item(), 0.15)
        changed = drawn["outliers"] != task
        self.assertGreater(drawn["large"].max().item(), 88)
        self.assertGreater((drawn["offset"].mean() / drawn["offset"].std()).item(), 500)
        self.assertLessEqual(len(drawn["ties"].unique()), 5)
        zeros, ends = drawn["zero rows"], drawn["ends"]
        self.assertTrue((zeros == 0).all(1).any() and (zeros == 0).all(0).any() and not (zeros == 0).all())
        largest = ends.argmax(1)
        self.assertTrue((largest[0::4] == 999).all() and (largest[1::4] >= 968).all() and (largest[2::4] == 0).all())
        for name, other in (("prefix", 1), ("inner prefix", 0)):
            gone = (drawn[name] == 0).all(other)
            self.assertTrue(gone[-1] and not gone[0] and gone.diff().sum() == 1)
        self.assertGreater(ends.max().item() - ends[3::4].max().item(), 88)
        kept = [int((distributions.draw("inner prefix", [task], [facts], seed)[0] != 0).any(0).sum()) for seed in range(40, 44)]
        self.assertTrue(all(part * 249 <= size <= (part + 1) * 250 + 1 for part, size in enumerate(kept)), kept)
        self.assertGreater(drawn["low"].min().item(), 1000, "one seed in four: minima")
        self.assertLess(distributions.draw("low", [task], [facts], 4)[0].max().item(), -88)
        self.assertLess(drawn["small"].abs().max().item(), 1e-3)
        self.assertTrue(drawn["not finite"].isnan().any() and drawn["not finite"].isinf().any())
        self.assertTrue(0 < changed.sum() <= 64 and drawn["outliers"][changed].min() >= 4)
        steps = drawn["waves"].diff(dim=1).abs().max() / drawn["waves"].std()
        self.assertLess(steps.item(), 0.2)
