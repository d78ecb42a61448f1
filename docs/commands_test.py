"""Commands in the documentation and in the workflows are commands that exist, with flags that they know."""

import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = os.environ.get("STITCHCUDA_BINARY", str(ROOT / "build/dev/stitchcuda"))
DOCUMENTS = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md", ROOT / "examples/README.md", *(ROOT / "docs").glob("*.md")]
)
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
# What stands before a command: the folder it was built in, or what runs it.
OURS = re.compile(r"(?:^|[\s`(])(?:build/release/|fresh/bin/|docker run (?:--?\S+ (?:\"[^\"]*\" )?)*)?(?:stitchcuda|\./dev run) ([a-z]+)\b([^\n`]*)")


def commands_of_dev():
    script = (ROOT / "dev").read_text(encoding="utf-8")
    labels = re.findall(r"^  ([a-z| -]+)\)", script[script.index("case $command in") :], re.M)
    return {word for label in labels for word in label.replace("|", " ").split()}


def code_of(text):
    """Fenced lines, continued ones joined, and code within sentences; comments left out."""
    fenced = re.findall(r"^ *```[a-z]*\n(.*?)^ *```", text, re.S | re.M)
    lines = [line for block in fenced for line in re.sub(r"\\\n\s*", "", block).splitlines()]
    lines += re.findall(r"`([^`\n]+)`", re.sub(r"^ *```.*?^ *```", "", text, flags=re.S | re.M))
    return [re.sub(r"(^|\s)#.*", "", line) for line in lines]


def steps_of(workflow):
    import yaml

    document = yaml.safe_load(workflow.read_text(encoding="utf-8"))
    for name, job in document["jobs"].items():
        assert job.get("runs-on") and job.get("timeout-minutes"), f"{workflow.name}, {name}: runs-on and timeout-minutes"
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), f"{workflow.name}, {name}: {step}"
            yield step


class Tool:
    """What `stitchcuda COMMAND --help` says, asked once."""

    def __init__(self):
        self.said = {}

    def help(self, *words):
        if words not in self.said:
            ran = subprocess.run([TOOL, *words, "--help"], capture_output=True, text=True, check=False)
            self.said[words] = ran.stdout if ran.returncode == 0 else None
        return self.said[words]

    def wrong_with(self, command, rest):
        """Why the line would be refused; empty: it would not."""
        text = self.help(command)
        if text is None:
            return f"there is no command {command}"
        for word in rest.split()[:1]:  # runs list, llm ask
            if re.fullmatch("[a-z]+", word) and (inner := self.help(command, word)):
                text += inner
        rest = re.split(r"[|;&>]", rest)[0]
        for flag in re.findall(r"(?<!\S)--[a-z][a-z-]*", rest):
            if not re.search(rf"(?<![\w-]){flag}(?![\w-])", text):
                return f"{command} has no {flag}"
        return ""


@unittest.skipUnless(os.path.exists(TOOL), "SKIPPED: the tool is not built")
class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tool, cls.dev = Tool(), commands_of_dev()

    def look(self, where, line):
        for command, rest in OURS.findall(line):
            self.assertEqual(self.tool.wrong_with(command, rest), "", f"{where}: {line}")
        for word in re.findall(r"(?:^|\s)\./dev ([a-z][a-z-]*)", line):
            self.assertIn(word, self.dev, f"{where}: {line}")
        for path in re.findall(r"(?<![\w./])((?:tools|docs|examples|cmake)/[\w./]+\.(?:py|sh))\b", line):
            self.assertTrue((ROOT / path).exists(), f"{where}: there is no {path}")

    def test_of_the_documentation_exist(self):
        for document in DOCUMENTS:
            for line in code_of(document.read_text(encoding="utf-8")):
                with self.subTest(document=document.name, line=line):
                    self.look(document.name, line)

    def test_of_the_workflows_exist(self):
        try:
            import yaml  # noqa: F401
        except ImportError:
            self.skipTest("SKIPPED: no PyYAML")
        runs = 0
        for workflow in WORKFLOWS:
            for step in steps_of(workflow):
                if "uses" in step:
                    self.assertRegex(step["uses"], r"^[\w.-]+/[\w./-]+@v\d+$")
                for line in re.sub(r"\\\n\s*", "", step.get("run", "")).splitlines():
                    runs += 1
                    self.look(workflow.name, line)
        self.assertGreater(runs, 5)

    def test_what_is_not_there_is_found(self):
        for line, wrong in [
            ("stitchcuda nonsense", "there is no command nonsense"),
            ("stitchcuda verify x --nonsense 3", "verify has no --nonsense"),
            ("stitchcuda runs list --nonsense", "runs has no --nonsense"),
            ("stitchcuda optimize m.py --budget 3 | tee --nonsense", ""),
        ]:
            [(command, rest)] = OURS.findall(line)
            self.assertEqual(self.tool.wrong_with(command, rest), wrong)
        for line in ["./dev nonsense", "python tools/nonsense.py"]:
            with self.assertRaises(AssertionError):
                self.look("here", line)


if __name__ == "__main__":
    unittest.main()
