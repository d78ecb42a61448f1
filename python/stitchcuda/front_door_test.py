"""What a new user's first lines meet: the import, the console command, candidates as text, verdicts, folders of the command line."""

import contextlib
import gc
import json
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

import stitchcuda

from . import tool

FOLDER = os.path.dirname(tool.PACKAGE)


class ImportTest(unittest.TestCase):
    def test_the_console_command_needs_no_pytorch(self):
        code = "import sys; from stitchcuda.tool import main; assert 'torch' not in sys.modules; import stitchcuda; print(stitchcuda.verify)"
        done = subprocess.run([sys.executable, "-c", code], cwd=FOLDER, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_names(self):
        for name in stitchcuda.__all__:
            self.assertIn(name, dir(stitchcuda))
            self.assertIsNotNone(getattr(stitchcuda, name))
        with self.assertRaisesRegex(AttributeError, "optimise"):
            stitchcuda.optimise  # noqa: B018


class Tool:
    """In the tool's place: remembers the words, answers with a document."""

    def __init__(self, code, document):
        self.code, self.document, self.words, self.texts = code, document, [], []

    def run(self, words, timeout=None):
        self.words = words
        for word in words[1:4:2]:
            if os.path.isfile(word):
                with open(word) as file:
                    self.texts.append((os.path.basename(word), file.read()))
        return self.code, json.dumps(self.document), ""


class VerdictTest(unittest.TestCase):
    def ask(self, candidate, code=0, document=None, **options):
        asked = Tool(code, document or {"verdict": "passed"})
        before, tool.run = tool.run, asked.run
        try:
            return stitchcuda.verify(candidate, "class Model: pass\n", **options), asked
        finally:
            tool.run = before

    def test_a_text_of_any_length_is_a_candidate(self):
        for text in ("", " ", "import torch; ModelNew = torch.nn.ReLU", "garbage", "I cannot do that."):
            _, asked = self.ask(text)
            self.assertEqual(asked.texts[0], ("model_new.py", text))
        self.assertEqual(self.ask('#include "x.h"')[1].texts[0][0], "candidate.cu")

    def test_a_path_must_be_there(self):
        import pathlib

        for path in ("nowhere.py", "nowhere/program", "nowhere/program.cu", pathlib.Path("nowhere")):
            with self.assertRaisesRegex(stitchcuda.StitchError, "there is no nowhere"):
                self.ask(path)
        self.assertEqual(self.ask(FOLDER)[1].words[1], FOLDER)

    def test_a_bad_folder_fails(self):
        seen, _ = self.ask(FOLDER, 2, {"error": {"code": "package", "message": "there is no program.cu"}})
        self.assertFalse(seen)
        self.assertEqual(str(seen), "failed at start: there is no program.cu")

    def test_a_wrong_question_is_an_exception(self):
        for code, kind in ((2, "missing"), (3, "bug")):
            with self.assertRaisesRegex(stitchcuda.StitchError, "(?s)no Model.*name it Model"):
                self.ask("x", code, {"error": {"code": kind, "message": "there is no Model", "fix": "name it Model"}})

    def test_not_judged_is_neither_true_nor_false(self):
        seen, _ = self.ask("x", 4, {"verdict": "not judged", "code": "no_gpu", "reason": "there is no GPU", "fix": "use one"})
        self.assertFalse(seen.judged)
        self.assertFalse(seen.passed)
        self.assertEqual(str(seen), "not judged: there is no GPU (fix: use one)")
        with self.assertRaisesRegex(stitchcuda.StitchError, "(?s)not judged: there is no GPU.*verdict.judged"):
            bool(seen)

    def test_fixes_are_of_this_package(self):
        seen, _ = self.ask("x", 4, {"verdict": "not judged", "code": "no_gpu", "reason": "no GPU", "fix": "use --device emulated"}, device="cuda")
        self.assertIn("device='emulated'", seen.fix)

    def test_mode(self):
        self.assertIn("--eval", self.ask("x", mode="eval")[1].words)
        with self.assertRaisesRegex(ValueError, "mode must be one of 'eval', 'train'"):
            self.ask("x", mode="test")


# Goes on to say what it does after it was interrupted, as the tool does.
INTERRUPTED_TOOL = """#!{python}
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
print('{{"progress": "first"}}', file=sys.stderr, flush=True)
signal.sigwait([signal.SIGINT])
print('{{"progress": "next"}}', file=sys.stderr, flush=True)
open({late!r}).read()
"""


class SearchTest(unittest.TestCase):
    def test_an_error_says_where(self):
        from . import search

        told = {"error": {"message": "the weight is f32 where f64 is needed", "where": "a.py:3, in forward", "fix": "convert one"}}
        before, search.run = search.run, lambda words, show: (2, json.dumps(told), "")
        try:
            with self.assertRaises(stitchcuda.StitchError) as raised:
                search.search("task.py", "out", device="emulated", gpu=None, numerics="default", budget=1, quick=True, options=[], show=None)
        finally:
            search.run = before
        self.assertEqual(str(raised.exception), "the weight is f32 where f64 is needed (a.py:3, in forward)\n  fix: convert one")

    def test_an_interrupt_is_answered_until_the_end(self):
        from . import search

        with tempfile.TemporaryDirectory() as folder:
            asked, late = os.path.join(folder, "stitchcuda"), os.path.join(folder, "late")
            os.mkfifo(late)
            with open(asked, "w") as file:
                file.write(INTERRUPTED_TOOL.format(python=sys.executable, late=late))
            os.chmod(asked, 0o755)
            shown = []

            def show(text):
                shown.append(text)
                if text == "first":
                    raise KeyboardInterrupt
                if "first" in shown[:-2]:
                    with contextlib.suppress(OSError):  # it may not listen yet, or not any more
                        os.close(os.open(late, os.O_WRONLY | os.O_NONBLOCK))

            before, tool.binary = tool.binary, lambda: asked
            try:
                self.assertEqual(search.run([], show)[0], 0)
            finally:
                tool.binary = before
        self.assertEqual(set(shown[shown.index("first") + 1 :]), {search.INTERRUPTED})

    def test_no_pipe_stays_open(self):
        from . import search

        try:
            tool.binary()
        except stitchcuda.StitchError as error:
            self.skipTest(str(error))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            self.assertEqual(search.run(["--version"], lambda text: None)[0], 0)
            gc.collect()
        self.assertEqual([str(one.message) for one in said if one.category is ResourceWarning], [])


class CacheTest(unittest.TestCase):
    def test_a_folder_that_cannot_be_written_to(self):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            first, again = tool.writable("/proc/nobody/stitchcuda"), tool.writable("/proc/nobody/stitchcuda")
        self.assertEqual(first, again)
        self.assertTrue(os.path.isdir(first))
        self.assertEqual(
            [str(one.message).partition(":")[0] for one in said], ["cannot write to /proc/nobody/stitchcuda (No such file or directory)"]
        )
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(tool.writable(folder), folder)
