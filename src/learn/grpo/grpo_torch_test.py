"""GRPO's loss and gradients by PyTorch's autograd, on the numbers that grpo_test.cpp has them on.

testdata/grpo_case.json holds a small network, groups of answers and what comes of them. The C++ test computes
the same from the inputs; this test computes it from tensors, by the formula that TRL's GRPOTrainer documents
(per-token ratio clipped on both sides with different epsilons, k3 estimator of the KL divergence, unbiased
standard deviation of the group plus 1e-4, mean over tokens and then over sequences). `--write` makes the file.
"""

import json
import math
import pathlib
import sys
import unittest

try:
    import torch
except ImportError:
    torch = None

SEED = 1
CASE = pathlib.Path(__file__).parent / "testdata" / "grpo_case.json"


def scores(parameters, widths, rows):
    values, at = rows, 0
    ends = widths[1:] + [1]
    for number, (width, out) in enumerate(zip(widths, ends)):
        weight = parameters[at : at + width * out].view(width, out)
        bias = parameters[at + width * out : at + (width + 1) * out]
        at += (width + 1) * out
        values = values @ weight + bias
        if number + 1 < len(widths):
            values = torch.nn.functional.silu(values)
    return values[:, 0]


def by_trl(case):
    """The loss of TRL's own GRPOTrainer: each decision is a token, its log probability handed in."""
    from unittest import mock

    from trl import GRPOTrainer

    parameters = torch.tensor(case["parameters"], dtype=torch.float64, requires_grad=True)
    options = case["options"]
    columns = {"logs": [], "sampled": [], "reference": [], "mask": [], "advantages": []}
    length = max(len(answer["decisions"]) for group in case["groups"] for answer in group)
    for group in case["groups"]:
        rewards = torch.tensor([answer["reward"] for answer in group], dtype=torch.float64)
        columns["advantages"].append((rewards - rewards.mean()) / (rewards.std() + 1e-4))
        for answer in group:
            logs = []
            for decision in answer["decisions"]:
                rows = torch.tensor(decision["options"], dtype=torch.float64).view(-1, case["widths"][0])
                logs.append(torch.log_softmax(scores(parameters, case["widths"], rows), 0)[decision["chosen"]])
            blanks = length - len(logs)
            zero = torch.zeros((), dtype=torch.float64)
            columns["logs"].append(torch.stack(logs + [zero] * blanks))
            for name in ("sampled", "reference"):
                values = [decision[name] for decision in answer["decisions"]] + [0.0] * blanks
                columns[name].append(torch.tensor(values, dtype=torch.float64))
            columns["mask"].append(torch.tensor([1.0] * len(logs) + [0.0] * blanks, dtype=torch.float64))
    logs = torch.stack(columns["logs"])
    trainer = mock.MagicMock(
        loss_type="grpo",
        beta=options["kl"],
        epsilon_low=options["clip_below"],
        epsilon_high=options["clip_above"],
        importance_sampling_level="token",
        top_entropy_quantile=1.0,
        off_policy_mask_threshold=None,
        use_vllm=False,
        aux_loss_enabled=False,
        _entropy_bonus_enabled=False,
        current_gradient_accumulation_steps=1,
    )
    trainer.args.delta = None
    trainer.args.use_bias_correction_kl = False
    trainer.accelerator.gather = lambda tensor: tensor
    trainer._get_per_token_logps_and_entropies.return_value = (logs, torch.zeros_like(logs), None)
    nothing = torch.zeros(len(logs), 1, dtype=torch.long)
    inputs = {
        "prompt_ids": nothing,
        "prompt_mask": nothing,
        "completion_ids": torch.zeros(logs.shape, dtype=torch.long),
        "completion_mask": torch.stack(columns["mask"]),
        "advantages": torch.cat(columns["advantages"]),
        "old_per_token_logps": torch.stack(columns["sampled"]),
        "ref_per_token_logps": torch.stack(columns["reference"]),
    }
    loss = GRPOTrainer._compute_loss(trainer, None, inputs)
    loss.backward()
    return loss.item(), parameters.grad.tolist()


def loss_and_gradient(case):
    parameters = torch.tensor(case["parameters"], dtype=torch.float64, requires_grad=True)
    options = case["options"]
    answers = []
    for group in case["groups"]:
        rewards = torch.tensor([answer["reward"] for answer in group], dtype=torch.float64)
        advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
        if rewards.std() == 0:
            advantages = torch.zeros_like(rewards)
        for answer, advantage in zip(group, advantages):
            decisions = []
            for decision in answer["decisions"]:
                rows = torch.tensor(decision["options"], dtype=torch.float64).view(-1, case["widths"][0])
                distribution = torch.distributions.Categorical(
                    logits=scores(parameters, case["widths"], rows)
                )
                log = distribution.log_prob(torch.tensor(decision["chosen"]))
                ratio = torch.exp(log - decision["sampled"])
                clipped = torch.clamp(ratio, 1 - options["clip_below"], 1 + options["clip_above"])
                policy = -torch.min(ratio * advantage, clipped * advantage)
                behind = decision["reference"] - log
                kl = torch.exp(behind) - behind - 1
                decisions.append(policy + options["kl"] * kl - options["entropy"] * distribution.entropy())
            answers.append(torch.stack(decisions).mean())
    loss = torch.stack(answers).mean()
    loss.backward()
    return loss.item(), parameters.grad.tolist()


def make_case():
    """Ratios on both sides of both limits, groups of different sizes, one of them flat."""
    generator = torch.Generator().manual_seed(SEED)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    widths = [3, 5, 4]
    count = sum((width + 1) * out for width, out in zip(widths, widths[1:] + [1]))
    case = {
        "widths": widths,
        "parameters": normal(count).tolist(),
        "options": {"clip_below": 0.2, "clip_above": 0.28, "kl": 0.05, "entropy": 0.02},
        "groups": [],
    }
    parameters = torch.tensor(case["parameters"], dtype=torch.float64)
    for size, flat in ((4, False), (3, False), (2, True)):
        group = []
        for number in range(size):
            decisions = []
            for length in (3, 2, 5)[: 1 + number % 3]:
                # Rows as C++ stores them: FP32.
                rows = normal(length, widths[0]).float().double()
                logs = torch.log_softmax(scores(parameters, widths, rows), 0)
                chosen = int(torch.randint(length, (1,), generator=generator))
                decisions.append(
                    {
                        "options": rows.flatten().tolist(),
                        "chosen": chosen,
                        "sampled": logs[chosen].item() + 0.4 * normal(1).item(),
                        "reference": logs[chosen].item() + 0.5 * normal(1).item(),
                    }
                )
            group.append({"reward": 1.0 if flat else round(normal(1).item(), 3), "decisions": decisions})
        case["groups"].append(group)
    case["loss"], case["gradient"] = loss_and_gradient(case)
    return case


@unittest.skipIf(torch is None, "no PyTorch")
class GrpoInTorch(unittest.TestCase):
    def test_autograd_agrees(self):
        case = json.loads(CASE.read_text())
        loss, gradient = loss_and_gradient(case)
        self.assertTrue(math.isclose(loss, case["loss"], rel_tol=1e-10))
        for ours, theirs in zip(case["gradient"], gradient, strict=True):
            self.assertAlmostEqual(ours, theirs, places=10)

    def test_trl_agrees(self):
        try:
            import trl  # noqa: F401
        except ImportError:
            self.skipTest("trl is not installed")
        case = json.loads(CASE.read_text())
        case["options"]["entropy"] = 0.0  # TRL's is averaged over all tokens of a batch
        loss, gradient = loss_and_gradient(case)
        theirs, their_gradient = by_trl(case)
        self.assertTrue(math.isclose(loss, theirs, rel_tol=1e-10))
        for ours, other in zip(gradient, their_gradient, strict=True):
            self.assertAlmostEqual(ours, other, places=10)

    def test_the_case_uses_every_branch(self):
        case = json.loads(CASE.read_text())
        parameters = torch.tensor(case["parameters"], dtype=torch.float64)
        ratios = {"better": [], "worse": []}
        for group in case["groups"]:
            mean = sum(answer["reward"] for answer in group) / len(group)
            for answer in group:
                if answer["reward"] == mean:
                    continue
                for decision in answer["decisions"]:
                    rows = torch.tensor(decision["options"], dtype=torch.float64).view(-1, case["widths"][0])
                    log = torch.log_softmax(scores(parameters, case["widths"], rows), 0)[decision["chosen"]]
                    side = "better" if answer["reward"] > mean else "worse"
                    ratios[side].append(math.exp(log.item() - decision["sampled"]))
        for side in ratios.values():
            self.assertTrue(any(ratio < 0.8 for ratio in side))
            self.assertTrue(any(0.8 < ratio < 1.28 for ratio in side))
            self.assertTrue(any(ratio > 1.28 for ratio in side))


if __name__ == "__main__":
    if "--write" in sys.argv:
        CASE.parent.mkdir(exist_ok=True)
        CASE.write_text(json.dumps(make_case(), indent=1) + "\n")
    else:
        unittest.main()
