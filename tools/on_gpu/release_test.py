"""A release run does each step once, goes on where it was cut off, and packs what it has: with a tool that only notes its arguments."""

import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TOOL = """#!/bin/sh
echo "$@" >>"$OUT/calls"
[ "$1" != bench ] || sleep "${BENCH_SECONDS:-0}"
"""


class Release(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out, tool = self.folder / "out", self.folder / "tool"
        tool.write_text(TOOL)
        tool.chmod(0o755)
        (self.folder / "list").write_text("examples/mlp.py\n")
        self.flags = ["--tool", tool, "--list", self.folder / "list"]

    def release(self, *flags, **variables):
        return subprocess.run(
            [sys.executable, HERE / "release.py", self.out, *self.flags, *flags],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **variables},
        )

    def steps(self):
        return [(record["step"], record["code"]) for record in map(json.loads, (self.out / "done.jsonl").read_text().splitlines())]

    def test_steps_that_are_done_are_not_repeated_and_the_one_cut_off_continues(self):
        cut = self.release("--only", "build,try,models", "--seconds", "12", BENCH_SECONDS="60")
        self.assertEqual(self.steps(), [("build", 0), ("try", 0), ("models", 124)], cut.stdout + cut.stderr)
        dry = self.release("--dry-run").stdout
        self.assertNotIn("\ntry:", "\n" + dry)
        self.assertIn("\nmodels: ", dry)
        self.release("--only", "models", "--flags=--quick")
        self.assertEqual(self.steps()[-1][0], "models")
        calls = (self.out / "calls").read_text().splitlines()
        self.assertRegex(calls[-1], r"^bench examples/mlp.py -o \S+/models --eval --jobs 12 .*--quick$")
        with tarfile.open(f"{self.out}.tgz") as packed:
            self.assertIn("./done.jsonl", packed.getnames())

    def test_a_step_that_has_to_end_waits_for_enough_time(self):
        self.assertIn("mutants", self.release("--dry-run").stdout)
        self.assertIn("candidates: no time for it", self.release("--only", "candidates", "--seconds", "100").stdout)
        self.assertFalse((self.out / "done.jsonl").exists())

    def test_a_tool_that_does_not_work_ends_it(self):
        (self.folder / "tool").write_text("#!/bin/sh\nexit 1\n")
        ran = self.release("--seconds", "60")
        self.assertEqual((ran.returncode, self.steps()), (1, [("build", 0), ("try", 1)]), ran.stderr)

    def test_an_unknown_step_is_refused(self):
        self.assertIn("no step is named nonsense", self.release("--only", "nonsense").stderr)


class Results(unittest.TestCase):
    def test_of_a_run_stand_beside_those_of_docs(self):
        record = {
            "task": "level3/5_AlexNet",
            "passed": True,
            "event_seconds_a_call": 5e-3,
            "seconds_a_call": 5.1e-3,
            "floor_seconds": 1e-3,
            "seconds": 9,
        }
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write(json.dumps(record) + "\n")
            file.flush()
            shown = subprocess.run([sys.executable, HERE / "results.py", "show", file.name], capture_output=True, text=True, check=True).stdout
        self.assertRegex(shown, r"level3/5_AlexNet +5\.0000 ms .*\n1 tasks, 1 right")

    def test_known_times_have_a_line_a_task(self):
        known = subprocess.run([sys.executable, HERE / "results.py", "known"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(len(known.splitlines()), 250)


if __name__ == "__main__":
    unittest.main()
