"""Every task of src/import/testdata/models stands alone: its file has all that its model needs, and as many inputs as forward takes."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch

HERE = pathlib.Path(__file__).resolve().parent


class Tasks(unittest.TestCase):
    def test_of_all_families_can_be_made(self):
        with tempfile.TemporaryDirectory() as folder:
            families = [f"--family={file.stem}" for file in sorted((HERE.parents[1] / "src/import/testdata/models").glob("*.py"))]
            subprocess.run([sys.executable, HERE / "make_tasks.py", "-o", folder, *families], check=True, capture_output=True)
            files = sorted(pathlib.Path(folder).glob("*.py"))
            self.assertGreater(len(files), 95)
            for file in files:
                with self.subTest(task=file.stem), torch.device("meta"):
                    task = {}
                    exec(compile(file.read_text(encoding="utf-8"), file, "exec"), task)  # its own text
                    model = task["Model"](*task["get_init_inputs"]())
                    self.assertEqual(model.forward.__code__.co_argcount - 1, len(task["get_inputs"]()))
                    self.assertFalse(model.model.training)


if __name__ == "__main__":
    unittest.main()
