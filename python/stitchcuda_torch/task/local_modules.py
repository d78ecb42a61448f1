"""What a task imports that no package manager installed: modules of its own folder, and of other folders on the path.

A program's package takes them along, or the task is refused by the name of the module that can't go.
"""

import glob
import os
import sys
import sysconfig

from .. import FOLDER
from ..base.errors import TaskError

MOST_FILES = 200  # more is a whole library


def files(task_file):
    """Paths below the task's folder, relative to it, of every module loaded from there so far."""
    folder = os.path.dirname(os.path.abspath(task_file))
    return sorted({os.path.relpath(path, folder).replace(os.sep, "/") for path, _ in found(task_file)})


def elsewhere(task_file):
    """{place in a folder of modules: file} of those from other folders that are no installed package."""
    return {place(module): path for path, module in found_elsewhere(task_file)}


def place(module):
    """mypackage.layers is mypackage/layers.py, mypackage itself mypackage/__init__.py."""
    path = module.__name__.replace(".", "/")
    return path + ("/__init__.py" if hasattr(module, "__path__") else ".py")


def found(task_file):
    """[(path, module)], the task itself left out."""
    folder = os.path.dirname(os.path.abspath(task_file)) + os.sep
    own, installed = os.path.abspath(task_file), installed_folders()
    return [(path, module) for path, module in loaded() if path != own and path.startswith(folder) and not path.startswith(installed)]


def found_elsewhere(task_file):
    folder = os.path.dirname(os.path.abspath(task_file)) + os.sep
    others = (folder, *installed_folders(), *our_folders())
    return [
        (path, module)
        for path, module in loaded()
        if not path.startswith(others)
        and not {"site-packages", "dist-packages"} & set(path.split(os.sep))
        and module.__name__.split(".")[0] not in sys.stdlib_module_names
        and not module.__name__.startswith("__")
    ]


def loaded():
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and os.path.isabs(path):  # torch.ops and its like name files that are not there
            yield os.path.normpath(path), module


def installed_folders():
    """Another interpreter's packages, this one's, and what `pip install --target` wrote: a task's folder may hold a virtual environment."""
    targets = {os.path.abspath(folder) for folder in sys.path if glob.glob(os.path.join(glob.escape(folder), "*.dist-info"))}
    folders = {sys.prefix, sys.base_prefix, FOLDER, *sysconfig.get_paths().values(), *targets} - {"/", "/usr"}
    return tuple(folder + os.sep for folder in folders)


def our_folders():
    """The folders that PyTorch and this package are installed in, among other packages."""
    torch = sys.modules.get("torch")
    packages = [FOLDER, os.path.dirname(os.path.abspath(getattr(torch, "__file__", None) or __file__))]
    return tuple(os.path.dirname(package) + os.sep for package in packages)


def check(task_file):
    """A program's package holds sources only."""
    others = found_elsewhere(task_file)
    for path, module in [*found(task_file), *others]:
        if not path.endswith(".py"):
            raise TaskError(
                "module",
                f"the task imports {module.__name__} from {os.path.basename(path)}, which is not Python source",
                os.path.basename(task_file),
                "Install it as a package, where every process finds it.",
            )
    if len(others) > MOST_FILES:
        name = others[0][1].__name__.split(".")[0]
        raise TaskError(
            "module",
            f"the task imports {len(others)} modules that are not installed, of {name} among others",
            os.path.basename(task_file),
            f"Install {name} as a package, where every process finds it.",
        )
