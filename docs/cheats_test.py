"""docs/cheats.md is the candidates' own, and the check that says so can fail."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def check(root=ROOT):
    return subprocess.run([sys.executable, ROOT / "docs/cheats.py", "--check", "--root", root], capture_output=True, text=True, check=False)


class Catalogue(unittest.TestCase):
    def test_is_that_of_the_candidates(self):
        ran = check()
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_every_known_cheat_has_a_test_or_a_reason(self):
        table = json.loads((ROOT / "src/verify/testdata/cheats.json").read_text(encoding="utf-8"))
        self.assertGreaterEqual(len(table["cheats"]), 126)
        for row in table["cheats"]:
            self.assertTrue(row["mechanism"] and row["stopped_by"], row["id"])

    def test_changes_are_found(self):
        for name, before, after in [
            ("docs/cheats.md", "can't exist", "can exist"),
            ("src/verify/testdata/candidates/does_nothing.cu", "not_finite", "wrong"),
            ("src/verify/testdata/candidates/honest.cu", "// passed", "// load: refused"),
            ("src/verify/testdata/cheats.json", "does_nothing.cu", "does_something.cu"),
        ]:
            with self.subTest(name=name), tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder)
                shutil.copytree(ROOT / "docs", root / "docs")
                shutil.copytree(ROOT / "src/verify/testdata", root / "src/verify/testdata")
                text = (root / name).read_text(encoding="utf-8")
                self.assertIn(before, text)
                (root / name).write_text(text.replace(before, after, 1), encoding="utf-8")
                self.assertEqual(check(root).returncode, 1)


if __name__ == "__main__":
    unittest.main()
