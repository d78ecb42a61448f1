"""Imports go one way: between the folders of this package as ALLOWED says, and between files of either package without a cycle."""

import glob
import os
import unittest

from . import FOLDER
from .cases.__main__ import imports_of

ALLOWED = {
    "base": (),
    "task": ("base",),
    "device": ("base",),
    "export": ("base", "task"),
    "reference": ("base", "task", "device", "export"),
    "candidate": ("base", "task", "device"),
    "cases": ("base", "task", "export", "reference"),
    "lend": ("base", "task", "export", "reference", "candidate"),
}


def sources(package):
    found = glob.glob(os.path.join(package, "**", "*.py"), recursive=True)
    return sorted(path for path in found if not path.endswith("_test.py") and os.sep + "testdata" + os.sep not in path)


def cycle_from(path, edges, way, done):
    if path in way:
        return [*way[way.index(path) :], path]
    if path not in done:
        for other in edges[path]:
            found = cycle_from(other, edges, [*way, path], done)
            if found:
                return found
        done.add(path)
    return None


class ImportsTest(unittest.TestCase):
    def test_between_folders(self):
        for path in sources(FOLDER):
            folder = os.path.relpath(path, FOLDER).split(os.sep)[0]
            for other in imports_of(path) if folder in ALLOWED else ():
                wanted = os.path.relpath(other, FOLDER).split(os.sep)[0]
                self.assertIn(wanted, (folder, *ALLOWED[folder]), f"{path} imports {other}")

    def test_no_cycles(self):
        for package in (FOLDER, os.path.join(os.path.dirname(FOLDER), "stitchcuda")):
            edges, done = {path: list(imports_of(path)) for path in sources(package)}, set()
            self.assertGreater(sum(map(len, edges.values())), 40)
            for path in edges:
                self.assertIsNone(cycle_from(path, edges, [], done))
