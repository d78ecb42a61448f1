import ast
import os
import sys
import tempfile
import unittest

from ..base.errors import TaskError
from . import local_modules, preload


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


TASK = """
import math
import numpy as np
import os.path
import somewhere.nowhere
from torch.nn import functional
from safe import one, two as second
from . import beside


def build():
    return np.linalg.norm, np.zeros(1), somewhere.thing
"""


class PreloadTest(unittest.TestCase):
    def test_follows_import_lines_and_what_is_named(self):
        found = preload.imports(ast.parse(TASK))
        self.assertEqual(found["numpy"], {"linalg", "zeros"})
        self.assertEqual(found["safe"], {"one", "two"})
        self.assertEqual(found["somewhere"], {"thing"})
        self.assertIn("somewhere.nowhere", found)
        self.assertNotIn("", found)

    def test_loads_installed_packages_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "neighbour_of_a_task.py"), "w") as file:
                file.write("raise SystemExit('loaded')\n")
            task = os.path.join(folder, "task.py")
            with open(task, "w") as file:
                file.write("import neighbour_of_a_task, networkx, numpy, torch, nobody_has_this\nfrom numpy import linalg\n")
            broken = os.path.join(folder, "broken.py")
            with open(broken, "w") as file:
                file.write("import (\n")
            with open(os.path.join(folder, "networkx.py"), "w") as file:
                file.write("hides = True\n")
            sys.path.insert(0, folder)
            self.addCleanup(sys.path.remove, folder)
            self.assertEqual(preload.preload([broken, task, os.path.join(folder, "away.py")]), ["numpy"])
            self.assertNotIn("neighbour_of_a_task", sys.modules)
