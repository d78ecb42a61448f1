"""The files of a task beside its own: modules that it imports from its folder."""

import os
import sys
import sysconfig

from .errors import TaskError


def files(task_file):
    """Paths below the task's folder, relative to it, of every module loaded from there so far."""
    folder = os.path.dirname(os.path.abspath(task_file))
    return sorted({os.path.relpath(path, folder).replace(os.sep, "/") for path, _ in found(task_file)})


def found(task_file):
    """[(path, module)], the task itself left out."""
    folder = os.path.dirname(os.path.abspath(task_file)) + os.sep
    own, installed = os.path.abspath(task_file), installed_folders()
    modules = []
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if not isinstance(path, str) or not os.path.isabs(path):  # torch.ops and its like name files that are not there
            continue
        path = os.path.normpath(path)
        if path != own and path.startswith(folder) and not path.startswith(installed):
            modules.append((path, module))
    return modules


def installed_folders():
    """Another interpreter's packages and this one's: a task's folder may hold a virtual environment."""
    ours = os.path.dirname(os.path.abspath(__file__))
    folders = {sys.prefix, sys.base_prefix, ours, *sysconfig.get_paths().values()} - {"/", "/usr"}
    return tuple(folder + os.sep for folder in folders)


def check(task_file):
    """A program's package holds sources only."""
    for path, module in found(task_file):
        if not path.endswith(".py"):
            raise TaskError("module", f"the task imports {module.__name__} from {os.path.basename(path)}, which is not Python source",
                            os.path.basename(task_file), "Install it as a package, where every process finds it.")
