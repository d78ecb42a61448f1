import os
import sys
import tempfile
import unittest

from ..base.errors import TaskError
from . import local_modules


class LocalModules(unittest.TestCase):
    """A task in one folder that imports a package of another one on the path."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.task = os.path.join(scratch.name, "task", "model.py")
        self.library = os.path.join(scratch.name, "library")
        for path, text in {
            "task/model.py": "",
            "task/beside_it.py": "",
            "library/own_layers/__init__.py": "",
            "library/own_layers/norms.py": "scale = 2\n",
            "library/own_single.py": "",
        }.items():
            place = os.path.join(scratch.name, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "w") as file:
                file.write(text)
        before, path = set(sys.modules), list(sys.path)
        self.addCleanup(lambda: [sys.modules.pop(name) for name in set(sys.modules) - before])
        self.addCleanup(lambda: sys.path.__setitem__(slice(None), path))
        sys.path[:0] = [os.path.dirname(self.task), self.library]

    def test_those_of_other_folders_are_found_by_their_names(self):
        __import__("own_layers.norms")
        __import__("own_single")
        __import__("beside_it")
        __import__("json.tool")
        self.assertEqual(local_modules.files(self.task), ["beside_it.py"])
        found = {place: file for place, file in local_modules.elsewhere(self.task).items() if place.startswith("own_")}
        self.assertEqual(sorted(found), ["own_layers/__init__.py", "own_layers/norms.py", "own_single.py"])
        self.assertEqual(found["own_single.py"], os.path.join(self.library, "own_single.py"))
        self.assertFalse([place for place in local_modules.elsewhere(self.task) if place.startswith(("json", "torch", "stitchcuda"))])

    def test_what_pip_wrote_into_a_folder_is_installed(self):
        __import__("own_single")
        os.mkdir(os.path.join(self.library, "own_single-1.0.dist-info"))
        self.assertNotIn("own_single.py", local_modules.elsewhere(self.task))

    def test_what_cannot_go_along_is_refused_by_name(self):
        module = type(sys)("own_kernels")
        module.__file__ = os.path.join(self.library, "own_kernels.so")
        sys.modules["own_kernels"] = module
        with self.assertRaisesRegex(TaskError, "own_kernels"):
            local_modules.check(self.task)
