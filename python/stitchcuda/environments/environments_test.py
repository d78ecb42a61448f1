"""What needs no package of others: rows, Harbor's folders, the watch over a policy. The rest: ./dev environments, ./dev rl."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from . import harbor_tasks, name_of, read_rows, train
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
        well = {"loss": 0.1, "reward": 0.5, "entropy": 0.4, "completions/mean_length": 300, "completions/clipped_ratio": 0.1}
        self.assertIsNone(self.end([dict(well, reward=0.1 * i) for i in range(1, 9)]))
        self.assertIsNone(self.end([well, dict(well, entropy=0.001)] * 5), "one bad log is none")
        self.assertIsNone(self.end([{"train_runtime": 3.0}] * 9))

    def test_what_collapses_is_stopped_at_its_last_good_step(self):
        well = {"loss": 0.1, "reward": 0.5, "entropy": 0.4, "completions/mean_length": 300, "completions/clipped_ratio": 0.1}
        for bad, why in (
            ({"entropy": 0.001}, "entropy"),
            ({"completions/mean_length": 9}, "tokens"),
            ({"reward": 0.01}, "mean reward"),
            ({"completions/clipped_ratio": 1.0}, "don't end"),
            ({"loss": float("nan")}, "loss"),
        ):
            step, good, said = self.end([well] * 4 + [dict(well, **bad)] * 3)
            self.assertEqual((step, good), (6, 4), bad)
            self.assertIn(why, said)

    def test_a_collapsed_run_is_not_gone_on_with(self):
        with tempfile.TemporaryDirectory() as out:
            Path(out, "collapsed.json").write_text(json.dumps({"why": "entropy 0.001", "step": 9, "good_checkpoint": "out/checkpoint-5"}))
            with self.assertRaisesRegex(train.Refused, "step 9.*--model out/checkpoint-5"):
                train.refuse_if_collapsed(out)

    def test_a_checkpoint_that_was_cut_off_is_none(self):
        with tempfile.TemporaryDirectory() as out:
            for name, whole in (("checkpoint-5", True), ("checkpoint-10", True), ("checkpoint-15", False), ("checkpoint-x", True)):
                Path(out, name).mkdir()
                if whole:
                    Path(out, name, "trainer_state.json").write_text("{}")
            self.assertEqual(list(train.checkpoints(out)), [5, 10])


if __name__ == "__main__":
    unittest.main()
