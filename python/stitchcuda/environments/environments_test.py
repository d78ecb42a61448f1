"""What needs no package of others: rows, Harbor's folders, the watch over a policy. The rest: ./dev environments, ./dev rl."""

import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

import torch

from . import harbor_tasks, name_of, read_rows, train
from .policy import Sampler
from .train import Watch

ROW = {
    "prompt": [{"role": "user", "content": "Mend it."}],
    "label": '{"task": "a/b", "before": "old", "feedback": "slow"}',
    "answer": "a/b",
    "completion": "```cuda\nnew\n```\n",
    "extra_info": {"split": "test", "skill": "from feedback", "reward": 0.5},
}


class Environments(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def rows(self, *rows):
        file = self.folder / "skills.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return str(file)

    def test_rows_of_a_split_and_a_line_that_is_none(self):
        self.assertEqual(read_rows(self.rows(ROW), "test"), [ROW])
        self.assertEqual(read_rows(self.rows(ROW), "train"), [])
        with self.assertRaisesRegex(ValueError, "skills.jsonl:2: not a row"):
            read_rows(self.rows(ROW, {"prompt": []}))

    def test_a_harbor_task_has_all_that_its_verifier_needs(self):
        task = harbor_tasks.write_task(ROW, 3, self.folder, "python:3.12-slim")
        self.assertEqual(task.name, name_of(ROW, 3))
        self.assertEqual(task.name, "a-b-from-feedback-3")
        config = (task / "task.toml").read_text()
        self.assertIn('environment_mode = "separate"', config)
        self.assertIn('STITCHCUDA_SERVICE = "${STITCHCUDA_SERVICE}"', config)
        self.assertEqual(json.loads((task / "tests/row.json").read_text())["label"], ROW["label"])
        self.assertTrue(os.access(task / "tests/test.sh", os.X_OK))
        self.assertIn("/app/answer.md", (task / "instruction.md").read_text())
        # Alone, as its container has it, it gets as far as the service.
        ran = subprocess.run(
            [sys.executable, str(task / "tests/judge.py"), str(task / "tests/row.json"), "nothing", "out"],
            capture_output=True,
            text=True,
            env={"STITCHCUDA_SERVICE": "http://127.0.0.1:1", "STITCHCUDA_PATIENCE": "0.1"},
        )
        self.assertIn("is away", ran.stderr)


class Collapse(unittest.TestCase):
    def end(self, logs):
        watch = Watch(patience=2)
        for step, log in enumerate(logs, 1):
            if why := watch.look(step, log):
                return step, watch.good_step, why
        return None

    def test_a_policy_that_learns_goes_on(self):
        well = {"loss": 0.1, "reward": 0.5, "entropy": 0.4, "length": 300, "clipped": 0.1}
        self.assertIsNone(self.end([dict(well, reward=0.1 * i) for i in range(1, 9)]))
        self.assertIsNone(self.end([well, dict(well, entropy=0.001)] * 5), "one bad log is none")
        self.assertIsNone(self.end([{"train_runtime": 3.0}] * 9))

    def test_what_collapses_is_stopped_at_its_last_good_step(self):
        well = {"loss": 0.1, "reward": 0.5, "entropy": 0.4, "length": 300, "clipped": 0.1}
        for bad, why in (
            ({"entropy": 0.001}, "entropy"),
            ({"length": 9}, "tokens"),
            ({"reward": 0.01}, "mean reward"),
            ({"clipped": 1.0}, "don't end"),
            ({"loss": float("nan")}, "loss"),
        ):
            step, good, said = self.end([well] * 4 + [dict(well, **bad)] * 3)
            self.assertEqual((step, good), (6, 4), bad)
            self.assertIn(why, said)

    def test_a_collapsed_run_is_not_gone_on_with(self):
        with tempfile.TemporaryDirectory() as out:
            Path(out, "collapsed.json").write_text(json.dumps({"why": "entropy 0.001", "step": 9, "good_checkpoint": "out/state.pt"}))
            with self.assertRaisesRegex(train.Refused, "step 9.*out/state.pt"):
                train.Run(types.SimpleNamespace(out=out), None)


@unittest.skipIf(importlib.util.find_spec("transformers") is None, "SKIPPED: no transformers")
class Training(unittest.TestCase):
    """A model of a few thousand parameters whose answers are single words."""

    def setUp(self):
        from tokenizers import Tokenizer, models, pre_tokenizers
        from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        words = ["<eos>", "<unk>", "write", "improve", "it", "well", "badly"]
        made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
        made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<eos>", unk_token="<unk>")
        tokenizer.chat_template = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
        torch.manual_seed(1)
        sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
        self.model = LlamaForCausalLM(LlamaConfig(vocab_size=len(words), max_position_embeddings=64, eos_token_id=0, pad_token_id=0, **sizes))
        self.model.save_pretrained(self.folder / "model")
        tokenizer.save_pretrained(self.folder / "model")
        self.rows = self.folder / "rows.jsonl"
        with open(self.rows, "w", encoding="utf-8") as out:
            for i, (asked, skill) in enumerate((("write it", "from scratch"), ("improve it", "from feedback"))):
                extra = {
                    "split": "train",
                    "skill": skill,
                    "reward": 0.3,
                    "index": i,
                    "before": "badly",
                    "provenance": "x of y: add",
                    "before_outcome": "wrong",
                }
                row = {"prompt": [{"role": "user", "content": asked}], "label": "t", "answer": "t", "completion": "well", "extra_info": extra}
                out.write(json.dumps(row) + "\n")
        judged = train.judged
        train.judged = lambda rows, texts: [
            {"label": "correct" if "well" in text else "wrong", "counted": True, "reward": float("well" in text), "verdict": {}} for text in texts
        ]
        self.addCleanup(setattr, train, "judged", judged)

    def run_it(self, method, model, *flags):
        command = [method, str(self.rows), "--model", str(model), "--cpu", "--length", "32", "--answer", "4", "--warmup", "1", *flags]
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(train.main(command), 0)

    def curve(self, out):
        return [json.loads(line) for line in (self.folder / out / "curve.jsonl").read_text().splitlines()]

    def test_many_answers_at_once_are_those_of_one_by_one(self):
        prompts = [[2, 4], [3, 4, 5, 6, 2, 4], [2, 2, 2]]
        answers = Sampler(self.model, 0, 8).answers(prompts, 6, 0.0)
        for prompt, answer in zip(prompts, answers):
            alone = self.model.generate(torch.tensor([prompt]), max_new_tokens=6, do_sample=False)[0, len(prompt) :].tolist()
            self.assertEqual(answer, alone)

    def test_sft_goes_on_where_it_was_ended(self):
        flags = ["--out", str(self.folder / "sft"), "--steps", "12", "--lr", "0.02"]
        self.run_it("sft", self.folder / "model", *flags, "--minutes", "0.000001")
        self.assertEqual([line["step"] for line in self.curve("sft")], [1], "it ends after a step, with a checkpoint")
        self.run_it("sft", self.folder / "model", *flags)
        curve = self.curve("sft")
        self.assertEqual([line["step"] for line in curve], list(range(1, 13)))
        self.assertLess(curve[-1]["loss"], 0.5 * curve[0]["loss"])

    def test_grpo_finds_what_is_paid_for_and_evaluation_sees_it(self):
        flags = ["--out", str(self.folder / "grpo"), "--steps", "40", "--lr", "0.02", "--prompts", "4", "--lora", "4"]
        self.run_it("grpo", self.folder / "model", *flags)
        rewards = [line["reward"] for line in self.curve("grpo")]
        self.assertGreater(sum(rewards[-5:]), sum(rewards[:5]) + 1)
        out = self.folder / "answers.jsonl"
        clock = types.SimpleNamespace(score_many=lambda items: [{"verdict": {"seconds_a_call": 1e-6}} for _ in items])
        for patch in (mock.patch.dict(os.environ, STITCHCUDA_CLOCK="here"), mock.patch.object(train.rl, "Service", lambda url: clock)):
            patch.start()
            self.addCleanup(patch.stop)
        for most in ("1", "2"):  # what is there isn't asked again
            self.run_it("evaluate", self.folder / "grpo/final", "--out", str(out), "--split", "train", "--group", "4", "--most", most)
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertEqual(sorted(line["row"] for line in lines), [0] * 4 + [1] * 4)
        self.assertGreater(sum(line["label"] == "correct" for line in lines), 4)
        self.assertEqual(sorted(line["seconds"] for line in lines)[-1], [1e-6, 1e-6], "an answer's and the known one's")
        table = Path(__file__).parents[3] / "tools/learning_table.py"
        ran = subprocess.run(
            [sys.executable, table, f"before={out}", f"after={out}", "--rows", self.rows], capture_output=True, text=True, check=True
        )
        self.assertEqual(ran.stdout.count("| after | 2 |"), 2, "of all, and beside the first arm")
        self.assertIn("| 0.000 (0.000 to 0.000) |", ran.stdout.splitlines()[-1], "an arm gains nothing over itself")


if __name__ == "__main__":
    unittest.main()
