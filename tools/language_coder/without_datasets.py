"""Stand-ins for `datasets`, `pyarrow` and `pandas` where they are not installed (a machine that nothing can be installed on).

GRPOTrainer imports all three. Of `datasets` it needs a class to recognise a data set by and rows by their index; of the
other two nothing at all on the road that is taken here. Where the real ones are installed, these are never seen.
"""

import importlib.machinery
import importlib.util
import sys
import types


ABSENT = "0.0.0"  # their version


class Dataset:
    """Rows in memory, by index: what a sampler and a data loader ask of a data set."""

    def __init__(self, rows):
        self._rows = list(rows)
        self.column_names = list(self._rows[0]) if self._rows else []
        self.features, self.cache_files = {}, []

    @classmethod
    def from_list(cls, rows):
        return cls(rows)

    def __len__(self):
        return len(self._rows)

    def __getitem__(self, index):
        return self._rows[index]


class _Absent:
    """A name that is imported and must not be used."""

    def __init__(self, *_, **__):
        raise RuntimeError("this stands in for a package that is not installed")


def _module(name, attributes, package=False):
    made = types.ModuleType(name)
    made.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=package)
    if package:
        made.__path__ = []
    made.__version__ = ABSENT
    for key, value in attributes.items():
        setattr(made, key, value)
    sys.modules[name] = made
    return made


def absent(name):
    return name not in sys.modules and importlib.util.find_spec(name) is None


def stood_in():
    """Names of the packages that are stood in for."""
    return [name for name in ("pandas", "pyarrow", "datasets") if getattr(sys.modules.get(name), "__version__", "") == ABSENT]


def install():
    if absent("pandas"):
        _module("pandas", {"DataFrame": _Absent})
    if absent("pyarrow"):
        compute, kinds = _module("pyarrow.compute", {}), _module("pyarrow.types", {})
        _module("pyarrow", {"compute": compute, "types": kinds, "Table": _Absent, "Array": _Absent}, package=True)
    if absent("datasets"):
        others = {name: type(name, (_Absent,), {}) for name in ("DatasetDict", "IterableDataset", "IterableDatasetDict")}
        _module("datasets", {"Dataset": Dataset, **others})
