"""python3 tools/kernelbench_evaluator_test.py: which programs are judged, and when, with an evaluator that is made up."""

import argparse
import json
import pathlib
import subprocess
import tempfile
import unittest

import kernelbench_evaluator as tool


class MadeUp:
    """Rejects what is called wrong; finds no memory for what is called large until it is alone."""

    alive = 0

    def __init__(self, options):
        MadeUp.alive += 1

    def judge(self, task, package):
        if "large" in task and MadeUp.alive > 1:
            return {"correct": False, "largest": None, "metadata": {"runtime_error": "CUDA out of memory"}}
        wrong = "wrong" in task or package.endswith(":wrong")
        return {"correct": not wrong, "largest": 0.5 if wrong else None, "metadata": {}}

    def close(self):
        MadeUp.alive -= 1


class Judging(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.own, tool.Evaluator, MadeUp.alive = tool.Evaluator, MadeUp, 0

    def tearDown(self):
        tool.Evaluator = self.own

    def write(self, name, passed=True):
        tasks = self.folder / "KernelBench/level1"
        tasks.mkdir(parents=True, exist_ok=True)
        (tasks / f"{name}.py").touch()
        if passed:
            program = self.folder / "out/programs/level1" / name
            program.mkdir(parents=True)
            (program / "model_new.py").touch()

    def finish(self, name, passed=True):
        (self.folder / "out").mkdir(exist_ok=True)
        with open(self.folder / "out/tasks.jsonl", "a") as file:
            file.write(json.dumps({"task": f"level1/{name}", "passed": passed, "reason": "refused by a gate"}) + "\n")

    def judge(self, follow=None, done=None, ways=()):
        checkout, programs, out = (str(self.folder / name) for name in ("", "out", "results.jsonl"))
        self.options = argparse.Namespace(checkout=checkout, programs=programs, out=out, levels="1", jobs=2, time_limit=5, follow=follow)
        done = done if done is not None else {}
        tool.judge_all(self.options, ways, done)
        return done

    def test_judges_each_once_and_the_large_alone(self):
        for name in ("1_right", "2_wrong", "3_large", "4_known"):
            self.write(name)
        done = self.judge(done={"level1/4_known": {"name": "level1/4_known", "level": 1, "correct": True}})
        self.assertEqual([name for name, record in done.items() if not record["correct"]], ["level1/2_wrong"])
        self.assertEqual(sorted(done), [f"level1/{name}" for name in ("1_right", "2_wrong", "3_large", "4_known")])
        self.assertEqual(sorted(tool.read_results(self.options.out)), ["level1/1_right", "level1/2_wrong", "level1/3_large"])
        self.assertEqual(MadeUp.alive, 0)

    def test_follows_a_bench_that_still_runs(self):
        self.write("1_right")
        self.write("2_later")
        self.write("3_refused", passed=False)
        self.finish("1_right")
        self.finish("3_refused", passed=False)
        bench = subprocess.Popen(["bash", "-c", f'sleep 1; echo \'{{"task": "level1/2_later", "passed": true}}\' >>{self.folder}/out/tasks.jsonl'])
        done = self.judge(follow=bench.pid)
        bench.wait()
        self.assertEqual(sorted(done), ["level1/1_right", "level1/2_later", "level1/3_refused"])
        text = tool.table(list(done.values()))
        self.assertIn("| 1 | 2 of 3 | 1 | 0 |", text)
        self.assertIn("| level1/3_refused | refused by a gate | not tried |", text)

    def test_asks_pytorch_in_other_ways_until_one_is_rejected(self):
        self.write("3_refused", passed=False)
        self.finish("3_refused", passed=False)
        done = self.judge(ways=["right", "wrong", "search"])
        self.assertEqual({way: other["correct"] for way, other in done["level1/3_refused"]["pytorch"].items()}, {"right": True, "wrong": False})
        self.assertIn("| 1 | 0 of 1 | 1 | 1 |", tool.table(list(done.values())))


if __name__ == "__main__":
    unittest.main()
