"""The README's and the docs' figures are those of docs/results, the catalogue is the candidates', and the check that says so can fail."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def check(root=ROOT):
    return subprocess.run([sys.executable, ROOT / "docs/figures.py", "--check", "--root", root], capture_output=True, text=True, check=False)


class Figures(unittest.TestCase):
    def test_are_those_of_the_results(self):
        ran = check()
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_the_first_screen_has_what_matters(self):
        first = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:40])
        for expected in [
            "over eager | **",
            "over torch.compile | **",
            "KernelPro",
            "CUDA Agent",
            "every gate of the Verifier",
            "`--quick`",
            "changed since it was timed",
            "**Not for** training",
            "stitchcuda optimize model.py",
            "stitchcuda verify --all",
            "stitchcuda mcp",
        ]:
            self.assertIn(expected, first)

    def test_counts_are_those_of_the_sources(self):
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        ops = re.search(r"enum class Op[^{]*\{(.*?)\};", (ROOT / "src/graph/op.h").read_text(encoding="utf-8"), re.S)[1]
        cheats = json.loads((ROOT / "src/verify/testdata/cheats.json").read_text(encoding="utf-8"))["cheats"]
        for sentence, count in [
            (r"(\d+) ops that carry meaning", len(re.findall(r"\w+", re.sub("//.*", "", ops)))),
            (r"holds (\d+) of them", len(list((ROOT / "examples").glob("*.py")))),
            (r"(\d+) ways to cheat", len(cheats)),
        ]:
            self.assertEqual(re.search(sentence, readme)[1], str(count), sentence)
        beside = (ROOT / "docs/when-to-use-which.md").read_text(encoding="utf-8")
        self.assertEqual(re.search(r"(\d+) ways to cheat", beside)[1], str(len(cheats)))

    def test_lists_of_gpus_ops_and_refused_operators_are_whole(self):
        page = (ROOT / "docs/gpus-and-ops.md").read_text(encoding="utf-8")
        for gpu in json.loads((ROOT / "src/gpu/gpus.json").read_text(encoding="utf-8"))["gpus"]:
            self.assertIn(f"| {gpu['name']} |", page)
        refused = re.findall(r'^    \{"([\w.]+)"', (ROOT / "src/import/aten/unknown.cpp").read_text(encoding="utf-8"), re.M)
        self.assertGreater(len(refused), 50)
        for name in refused:
            self.assertIn(f"`{name.removeprefix('aten.').rstrip('.')}`", page)

    def test_every_known_cheat_has_a_test_or_a_reason(self):
        table = json.loads((ROOT / "src/verify/testdata/cheats.json").read_text(encoding="utf-8"))
        self.assertGreaterEqual(len(table["cheats"]), 126)
        for row in table["cheats"]:
            self.assertTrue(row["mechanism"] and row["stopped_by"], row["id"])

    def test_a_figure_changed_by_hand_is_found(self):
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        shutil.copy(ROOT / "README.md", root)
        for folder in ("docs", "src/verify/testdata"):
            shutil.copytree(ROOT / folder, root / folder)
        for source in ("src/gpu/gpus.json", "src/graph/op.h", "src/import/aten/unknown.cpp"):
            (root / source).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / source, root / source)
        for name, before, after in [
            ("docs/cheats.md", "can't exist", "can exist"),
            ("src/verify/testdata/candidates/does_nothing.cu", "not_finite", "wrong"),
            ("src/verify/testdata/candidates/honest.cu", "// passed", "// load: refused"),
            ("src/verify/testdata/cheats.json", "does_nothing.cu", "does_something.cu"),
            ("README.md", r"over eager \| \*\*\d", "over eager | **9"),
            ("docs/results/kernelbench-h200.jsonl", r"\"eager_ms\": [\d.]+", '"eager_ms": 9999'),
            ("docs/results/kernelbench-h200.jsonl", r"\"compile_graph_ms\": [\d.]+", '"compile_graph_ms": 0.1'),
            ("README.md", "<!-- figures: kernelbench-summary -->\n", ""),
            ("docs/results-tables.md", r"\|\d\.\d+\|", "|7.777|"),
            ("docs/results/kernelbench-h200.jsonl", '"verdict": "passed"', '"verdict": ""'),
        ]:
            with self.subTest(name=name, before=before):
                text = (root / name).read_text(encoding="utf-8")
                self.assertRegex(text, before)
                (root / name).write_text(re.sub(before, after, text, count=1), encoding="utf-8")
                self.assertEqual(check(root).returncode, 1)
                (root / name).write_text(text, encoding="utf-8")
        self.assertEqual(check(root).returncode, 0)


if __name__ == "__main__":
    unittest.main()
