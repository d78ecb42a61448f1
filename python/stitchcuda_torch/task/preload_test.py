import ast
import os
import sys
import tempfile
import unittest

from . import preload

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
