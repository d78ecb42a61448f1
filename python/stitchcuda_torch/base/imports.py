"""Which files of this package a file imports, read from its text."""

import ast
import os


def of(path):
    """Their paths."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            place = path
            for _ in range(node.level):
                place = os.path.dirname(place)
            place = os.path.join(place, *(node.module or "").split("."))
            yield from filter(os.path.exists, [f"{place}.py", *(os.path.join(place, f"{alias.name}.py") for alias in node.names)])
