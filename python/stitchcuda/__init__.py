"""StitchCUDA: a PyTorch model becomes a verified, faster CUDA program.

import stitchcuda
fast = stitchcuda.optimize(model, (x,))
y = fast(x)
"""

import importlib
import typing

from . import tool  # noqa: F401  finds stitchcuda_torch before anything imports it

if typing.TYPE_CHECKING:
    from .errors import StitchError
    from .loading import load
    from .module import Fast
    from .optimizing import optimize
    from .verdict import Verdict, verify

__all__ = ["Fast", "StitchError", "Verdict", "load", "optimize", "verify"]
__version__ = "0.1.0"

HOMES = {"Fast": "module", "StitchError": "errors", "Verdict": "verdict", "load": "loading", "optimize": "optimizing", "verify": "verdict"}


def __getattr__(name):
    """At first use: the console command needs no PyTorch, whose import takes seconds."""
    if name not in HOMES:
        raise AttributeError(f"module 'stitchcuda' has no attribute '{name}'")
    globals()[name] = getattr(importlib.import_module("." + HOMES[name], __name__), name)
    return globals()[name]


def __dir__():
    return sorted({*globals(), *__all__})
