"""Packages that tasks import, loaded before processes fork: once for the exporter and the reference, or for many tasks.

Of a task's file only its import lines are followed, and what it names of a package (`transformers.LlamaModel`: such packages
load their parts when they are named). Installed packages alone; errors are ignored, since they recur where the task is
loaded.
"""

import ast
import contextlib
import importlib
import importlib.util
import os
import sys

from . import local_modules

NEVER = ("torch", "stitchcuda", "stitchcuda_torch")  # is here; is a user of this one


def preload(files):
    """What was loaded, by name."""
    found, folders = {}, {os.path.dirname(os.path.abspath(file)) for file in files}
    for file in files:
        with contextlib.suppress(OSError, SyntaxError, ValueError, RecursionError):
            with open(file, encoding="utf-8") as source:
                for module, names in imports(ast.parse(source.read())).items():
                    found.setdefault(module, set()).update(names)
    return [module for module, names in sorted(found.items()) if not is_beside(module, folders) and load(module, names)]


def is_beside(module, folders):
    """A task's neighbour comes before a package of its name."""
    root = module.split(".")[0]
    return any(os.path.exists(os.path.join(folder, name)) for folder in folders for name in (root, root + ".py"))


def imports(tree):
    """{module: names that are taken of it}."""
    found, called = {}, {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.setdefault(alias.name, set())
                called[alias.asname or alias.name.split(".")[0]] = alias.name if alias.asname else alias.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.setdefault(node.module, set()).update(alias.name for alias in node.names if alias.name != "*")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in called:
            found.setdefault(called[node.value.id], set()).add(node.attr)
    return found


def load(name, names):
    root = name.split(".")[0]
    if root in sys.stdlib_module_names or root in NEVER or not is_installed(root):
        return False
    try:
        module = importlib.import_module(name)
        for each in names:
            getattr(module, each, None)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return False
    return True


def is_installed(root):
    """A task's neighbours are its own: two tasks may call different files the same."""
    try:
        spec = importlib.util.find_spec(root)
    except (ImportError, ValueError):
        return False
    places = [spec.origin] if spec and spec.origin and os.path.isabs(spec.origin) else []
    inside = tuple(local_modules.installed_folders())
    return any(place.startswith(inside) or {"site-packages", "dist-packages"} & set(place.split(os.sep)) for place in places)
